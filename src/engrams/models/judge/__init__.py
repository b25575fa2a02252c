"""Decision models: probabilities of statements about a text, without any words."""
