"""Text as every layer sees it: folding, index terms, the shape of a sentence, dates. Pure functions, no I/O."""
