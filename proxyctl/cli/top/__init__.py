"""The live view of the command top. The only package that uses Textual, which is an extra."""
