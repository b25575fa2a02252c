-- A context begins with what is believed most; a question by a statement's nature looks for its predicate.
CREATE INDEX records_believed ON records (
    owner, (CASE kind WHEN 'correction' THEN 0 WHEN 'negative' THEN 1 WHEN 'rule' THEN 1 ELSE 2 END),
    (confidence * trust) DESC, strength DESC, recorded_at, number
) WHERE kind <> 'turn' AND status = 'active';
CREATE INDEX records_predicate ON records (owner, predicate, recorded_at) WHERE predicate <> '';
