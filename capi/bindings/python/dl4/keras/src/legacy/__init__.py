"""What Keras keeps for old programs."""
