"""The live view of the command `top`. Only this package uses Textual, which is an extra."""
