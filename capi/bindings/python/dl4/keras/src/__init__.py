"""What stands behind the public modules."""
