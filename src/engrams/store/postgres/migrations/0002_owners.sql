-- Who has memory here is told to the fleet: a move goes through all owners.
CREATE POLICY fleet ON owners FOR SELECT TO engrams_fleet USING (true);
GRANT SELECT ON owners TO engrams_fleet;
