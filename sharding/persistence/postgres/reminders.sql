-- The format after schema.sql: reminders of entities. Those of an entity type have a type of their own,
-- with fences and a kind.

-- The schema is told from others by this, also after a fail-over.
ALTER TABLE @.meta ADD COLUMN id uuid NOT NULL DEFAULT gen_random_uuid();

CREATE TABLE @.reminders (
  due     bigint NOT NULL, -- nanoseconds since 1970, as at
  at      bigint NOT NULL,
  every   bigint NOT NULL, -- nanoseconds
  tries   bigint NOT NULL,
  version bigint NOT NULL,
  sum     bigint NOT NULL,
  shard   bigint NOT NULL,
  kind    int    NOT NULL,
  entity  bytea  NOT NULL,
  name    bytea  NOT NULL,
  body    bytea  NOT NULL,
  PRIMARY KEY (kind, shard, entity, name)
);
-- The index has a sum in place of the shard, so that no statement takes it which looks for a name: for a
-- table without statistics the server would not know that it has to look at the whole set there.
CREATE INDEX reminders_at ON @.reminders (kind, (shard + 0), at);

-- The shards that have reminders, or had some, with the transaction of the last update. So watchers find
-- what may have changed without a look at the reminders: they read a short row for each shard. hosting is
-- that of the last update of a hosting, as fences has it, and number that of the update in it: an update with
-- lower ones was overtaken.
CREATE TABLE @.reminded (
  shard   bigint NOT NULL,
  xid     bigint NOT NULL,
  hosting bigint NOT NULL,
  number  bigint NOT NULL,
  kind    int    NOT NULL,
  PRIMARY KEY (kind, shard)
) WITH (fillfactor = 50);

-- of_tool reports whether a token is that of a tool, which nothing fences and which fences nothing.
CREATE FUNCTION @.of_tool(p_token bytea) RETURNS boolean LANGUAGE sql IMMUTABLE AS
  $$ SELECT p_token = '\x00000000000000000000000000000000000000000000000000000000' $$;

-- admit is for a call that reads. entered is NULL if the hosting has not begun, and -1 if a later one has.
-- One that has begun sees all that those before it have done: a call of theirs that comes later has no
-- effect.
CREATE FUNCTION @.admit(p_type bytea, p_shard bigint, p_token bytea, OUT kind int, OUT entered bigint)
LANGUAGE plpgsql STABLE SET enable_seqscan = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  v_token bytea;
BEGIN
  SELECT k.id INTO kind FROM @.kinds k WHERE k.name = p_type;
  IF @.of_tool(p_token) THEN
    entered := 0;
    RETURN;
  END IF;
  SELECT f.hosting, f.token INTO entered, v_token FROM @.fences f WHERE f.kind = admit.kind AND f.shard = p_shard;
  IF v_token > p_token THEN
    entered := -1;
  ELSIF v_token < p_token THEN
    entered := NULL;
  END IF;
END $$;

-- remind makes changes of the reminders of a shard, round after round. Those of one round are of different
-- reminders. c_was is the version that a reminder must have to be changed; 0: any, or none. p_number is the number
-- of the update in its hosting: entered is -3 if a later one was here. A tool is of hosting 0, and keeps no order.
CREATE FUNCTION @.remind(p_type bytea, p_shard bigint, p_token bytea, p_wait int, p_number bigint, p_rounds int,
  c_round int[], c_remove boolean[], c_was bigint[], c_entity bytea[], c_name bytea[], c_due bigint[], c_at bigint[],
  c_every bigint[], c_tries bigint[], c_version bigint[], c_body bytea[], c_sum bigint[],
  OUT entered bigint)
LANGUAGE plpgsql SET enable_seqscan = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  v_kind int;
BEGIN
  IF @.of_tool(p_token) THEN
    PERFORM @.own(p_type, p_shard, p_wait);
    INSERT INTO @.kinds (name) SELECT p_type WHERE NOT EXISTS (SELECT FROM @.kinds k WHERE k.name = p_type)
      ON CONFLICT DO NOTHING;
    SELECT k.id INTO STRICT v_kind FROM @.kinds k WHERE k.name = p_type;
    entered := 0;
  ELSE
    SELECT * INTO v_kind, entered FROM @.enter(p_type, p_shard, p_token, p_wait);
    IF entered IS NULL OR entered < 0 THEN
      RETURN;
    END IF;
  END IF;

  INSERT INTO @.reminded AS d (kind, shard, xid, hosting, number)
    VALUES (v_kind, p_shard, pg_current_xact_id()::text::bigint, entered, p_number)
    ON CONFLICT (kind, shard) DO UPDATE SET xid = EXCLUDED.xid, hosting = greatest(d.hosting, EXCLUDED.hosting),
      number = CASE WHEN EXCLUDED.hosting = 0 THEN d.number ELSE EXCLUDED.number END
    WHERE EXCLUDED.hosting = 0 OR (d.hosting, d.number) <= (EXCLUDED.hosting, EXCLUDED.number);
  IF NOT FOUND THEN
    entered := -3;
    RETURN;
  END IF;

  FOR v_round IN 1..p_rounds LOOP
    DELETE FROM @.reminders r WHERE r.ctid = ANY (ARRAY(
      SELECT o.ctid FROM unnest(c_round, c_remove, c_was, c_entity, c_name) AS c (round, remove, was, entity, name)
        CROSS JOIN LATERAL (
          SELECT x.ctid, x.version FROM @.reminders x
            WHERE x.kind = v_kind AND x.shard = p_shard AND x.entity = c.entity AND x.name = c.name LIMIT 1) o
        WHERE c.round = v_round AND c.remove AND c.was IN (0, o.version)));

    INSERT INTO @.reminders (kind, shard, entity, name, due, at, every, tries, version, body, sum)
      SELECT v_kind, p_shard, c.entity, c.name, c.due, c.at, c.every, c.tries, c.version, c.body, c.sum
        FROM unnest(c_round, c_remove, c_was, c_entity, c_name, c_due, c_at, c_every, c_tries, c_version, c_body, c_sum)
          AS c (round, remove, was, entity, name, due, at, every, tries, version, body, sum)
        WHERE c.round = v_round AND NOT c.remove AND (c.was = 0 OR c.was = (
          SELECT x.version FROM @.reminders x
            WHERE x.kind = v_kind AND x.shard = p_shard AND x.entity = c.entity AND x.name = c.name LIMIT 1))
      ON CONFLICT (kind, shard, entity, name) DO UPDATE
        SET due = EXCLUDED.due, at = EXCLUDED.at, every = EXCLUDED.every, tries = EXCLUDED.tries,
          version = EXCLUDED.version, body = EXCLUDED.body, sum = EXCLUDED.sum;
  END LOOP;
END $$;

-- due_reminders returns the first reminders of a shard by at, up to p_until, at most p_limit, or one row
-- without a reminder; and with each the first at after p_until. Sorts and bitmaps are off: they would look at
-- all that is due.
CREATE FUNCTION @.due_reminders(p_type bytea, p_shard bigint, p_token bytea, p_until bigint, p_limit int)
RETURNS TABLE (entered bigint, next bigint, entity bytea, name bytea, due bigint, at bigint, every bigint,
  tries bigint, version bigint, body bytea, sum bigint)
LANGUAGE plpgsql STABLE SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET jit = off
SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
  v_kind    int;
  v_entered bigint;
  v_next    bigint;
BEGIN
  SELECT a.kind, a.entered INTO v_kind, v_entered FROM @.admit(p_type, p_shard, p_token) a;
  SELECT x.at INTO v_next FROM @.reminders x
    WHERE x.kind = v_kind AND x.shard + 0 = p_shard AND x.at > p_until ORDER BY x.at LIMIT 1;
  RETURN QUERY SELECT v_entered, v_next, r.entity, r.name, r.due, r.at, r.every, r.tries, r.version, r.body, r.sum
    FROM (VALUES (1)) one LEFT JOIN LATERAL (
      SELECT x.* FROM @.reminders x
        WHERE x.kind = v_kind AND x.shard + 0 = p_shard AND x.at <= p_until AND v_entered >= 0
        ORDER BY x.at LIMIT p_limit) r ON true;
END $$;

-- reminders_of returns those of an entity, by name, or one row without a reminder.
CREATE FUNCTION @.reminders_of(p_type bytea, p_shard bigint, p_token bytea, p_entity bytea)
RETURNS TABLE (entered bigint, next bigint, entity bytea, name bytea, due bigint, at bigint, every bigint,
  tries bigint, version bigint, body bytea, sum bigint)
LANGUAGE plpgsql STABLE SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET jit = off
SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
  v_kind    int;
  v_entered bigint;
BEGIN
  SELECT a.kind, a.entered INTO v_kind, v_entered FROM @.admit(p_type, p_shard, p_token) a;
  RETURN QUERY SELECT v_entered, NULL::bigint, r.entity, r.name, r.due, r.at, r.every, r.tries, r.version, r.body, r.sum
    FROM (VALUES (1)) one LEFT JOIN LATERAL (
      SELECT x.* FROM @.reminders x
        WHERE x.kind = v_kind AND x.shard = p_shard AND x.entity = p_entity AND v_entered >= 0
        ORDER BY x.name) r ON true;
END $$;
