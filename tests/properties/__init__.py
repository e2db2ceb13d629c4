"""Laws that hold for all inputs."""
