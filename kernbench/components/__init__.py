"""What each kind of part is: its parameters, their units, and the figures that programs pay by."""
