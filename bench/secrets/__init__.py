"""Made-up secrets of 100 kinds in five forms, and ordinary technical messages without any.

Enter at ``kinds.make_secrets`` and ``ordinary.make_messages``; ``python -m bench.secrets`` measures
recall and precision of the detection. Every value is drawn at random: none opens anything.
"""
