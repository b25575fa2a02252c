"""The peers, each as its own documentation uses it. A module gives ``open_store(encoder, folder) -> Store``."""
