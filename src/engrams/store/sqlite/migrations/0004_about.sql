-- Whom a statement is about is told by the index too, so that only those about the one who is named are looked at.
DROP INDEX records_predicate;
CREATE INDEX records_predicate ON records (owner, predicate, recorded_at, subject) WHERE predicate <> '';
