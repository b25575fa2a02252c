"""Statements on health, diet, safety and identity, which end only by a statement on that very thing.

Somebody else's gluten in a cake does not end "Nora is coeliac". Enter at ``may_end``. Pure.
"""

from __future__ import annotations

from engrams.core import Record
from engrams.extract.candidate import CandidateStatement
from engrams.extract.predicate_slots import canonical_predicate
from engrams.text.late_patterns import late_pattern
from engrams.text.normalize import fold
from engrams.text.terms import terms
from engrams.text.vocabulary import word_set

_CATEGORIES = frozenset(("health", "diet", "safety", "identity"))
_PREDICATES = word_set(
    "allergic_to allergy intolerant_to diet is_vegan is_vegetarian eats_no blood_type medication takes"
    " diagnosed_with suffers_from condition disability is_named birthday born_in nationality"
    " emergency_contact afraid_of"
)
_WORDS = late_pattern(
    r"allerg|coeliac|celiac|intoleran|diabet|asthma|epilep|anaphyla|pregnan|gluten|vegan|vegetarian|kosher|halal"
    r"|zöliakie|schwanger|unverträglich|celíac|embarazad|cœliaque|coeliaque|enceinte|过敏|素食|怀孕|糖尿病|哮喘"
    r"|アレルギー|妊娠|糖尿病|喘息|菜食"
)


def is_protected(record: Record) -> bool:
    """True for a statement on health, diet, safety or who somebody is."""
    return (
        record.category in _CATEGORIES
        or canonical_predicate(record.predicate) in _PREDICATES
        or _WORDS.search(record.text.lower()) is not None
    )


def may_end(candidate: CandidateStatement, record: Record) -> bool:
    """True if a candidate may end or replace a record: it is not protected, or is about the same.

    About the same is a statement of the same subject that fills the same slot, or names what the
    record says of it; and a statement whose subject is the object of the record.
    """
    if not is_protected(record):
        return True
    if fold(candidate.subject) != fold(record.subject) and candidate.subject and record.subject:
        # "Bruno has died" is about the object of "Tobias has the dog Bruno, who is diabetic".
        subject_words = {*terms(candidate.subject)}
        return bool(subject_words) and subject_words <= {*terms(record.object)}
    is_same_slot = bool(record.predicate) and (
        canonical_predicate(candidate.predicate) == canonical_predicate(record.predicate)
    )
    subject_terms = {*terms(record.subject)}
    named = {*terms(record.object or record.text)} - subject_terms
    return is_same_slot or not named.isdisjoint(terms(candidate.text))
