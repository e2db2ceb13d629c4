"""Plans and results as text: for people, pull requests and machines. Pure: data in, text out."""
