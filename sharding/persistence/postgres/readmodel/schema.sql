-- Format 1. The name of the schema stands for @.

CREATE TABLE @.projections (
  name   bytea   PRIMARY KEY,
  parts  int     NOT NULL,
  paused boolean NOT NULL
);

-- The last claim of each part, and how far it has come.
CREATE TABLE @.parts (
  handled bigint NOT NULL,
  omitted bigint NOT NULL,
  claim   bigint NOT NULL,
  at      bigint,          -- microseconds since 1970: when the last event was written
  part    int    NOT NULL,
  name    bytea  NOT NULL REFERENCES @.projections,
  place   bytea  NOT NULL, -- the offset
  PRIMARY KEY (name, part)
) WITH (fillfactor = 50);
