-- The name of the schema stands for @.

-- clock is the time by which leases end. Every statement takes it from here.
CREATE FUNCTION @.clock() RETURNS timestamptz LANGUAGE sql VOLATILE AS $$ SELECT clock_timestamp() $$;

-- A lease has one row, which stays. Names and owners are UTF-8, in bytes, because a database may have
-- another encoding. door is NULL after a release. attempt is the number that the door gave to its
-- attempt to acquire. version counts the acquisitions and releases.
CREATE TABLE @.leases (
  name    bytea       PRIMARY KEY,
  owner   bytea       NOT NULL,
  door    bytea,
  attempt bigint      NOT NULL,
  version bigint      NOT NULL,
  term    interval    NOT NULL,
  until   timestamptz NOT NULL,
  record  bytea
) WITH (fillfactor = 50);
