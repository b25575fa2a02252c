"""Models that tell in words what a picture shows, or what is said in a sound."""
