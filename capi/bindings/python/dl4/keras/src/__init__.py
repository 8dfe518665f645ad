"""The implementation of dl4.keras, in folders named as in keras/src. `dl4.keras.layers` and the other public modules
export names from here."""
