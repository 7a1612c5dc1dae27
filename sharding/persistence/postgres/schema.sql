-- The name of the schema stands for @. The rows of a type have its number as kind.

CREATE TABLE @.kinds (
  id   int   GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name bytea NOT NULL UNIQUE
);

-- The highest token of each shard, and a number for it.
CREATE TABLE @.fences (
  kind    int    NOT NULL REFERENCES @.kinds,
  shard   bigint NOT NULL,
  token   bytea  NOT NULL CHECK (octet_length(token) = 28),
  hosting bigint NOT NULL,
  PRIMARY KEY (kind, shard)
) WITH (fillfactor = 50);

CREATE SEQUENCE @.hostings;

-- era, xid and n are the place of an event among those of its type: the transaction that stored it,
-- and its number therein. hosting and write tell a repeated write from another one.
CREATE TABLE @.events (
  era     bigint   NOT NULL,
  xid     bigint   NOT NULL,
  hosting bigint   NOT NULL,
  write   bigint   NOT NULL,
  seq     bigint   NOT NULL,
  version bigint   NOT NULL,
  at      bigint   NOT NULL, -- microseconds since 1970
  sum     bigint   NOT NULL,
  kind    int      NOT NULL,
  n       int      NOT NULL,
  slice   smallint NOT NULL,
  entity  bytea    NOT NULL,
  name    bytea    NOT NULL,
  tags    bytea,             -- each after a byte with its length
  body    bytea    NOT NULL,
  PRIMARY KEY (kind, entity, seq)
);
CREATE INDEX events_place ON @.events (kind, era, xid, n, slice);

-- How far the history of an entity was deleted, and the write of the last event that was.
CREATE TABLE @.deletions (
  upto    bigint NOT NULL,
  hosting bigint NOT NULL,
  write   bigint NOT NULL,
  kind    int    NOT NULL,
  entity  bytea  NOT NULL,
  PRIMARY KEY (kind, entity)
);

CREATE TABLE @.snapshots (
  seq     bigint NOT NULL,
  version bigint NOT NULL,
  at      bigint NOT NULL,
  sum     bigint NOT NULL,
  kind    int    NOT NULL,
  entity  bytea  NOT NULL,
  name    bytea  NOT NULL,
  body    bytea  NOT NULL,
  PRIMARY KEY (kind, entity, seq)
);

CREATE TABLE @.states (
  revision bigint  NOT NULL,
  hosting  bigint  NOT NULL,
  write    bigint  NOT NULL,
  version  bigint  NOT NULL,
  at       bigint  NOT NULL,
  sum      bigint  NOT NULL,
  kind     int     NOT NULL,
  deleted  boolean NOT NULL,
  entity   bytea   NOT NULL,
  name     bytea   NOT NULL,
  tags     bytea,
  body     bytea   NOT NULL,
  PRIMARY KEY (kind, entity)
) WITH (fillfactor = 80);

-- ready prepares a transaction for a call. p_wait is how many milliseconds it waits for a lock; 0: as long
-- as it takes.
CREATE FUNCTION @.ready(p_wait int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION 'the isolation of transactions is %, so that a call does not see what it has waited for',
      current_setting('transaction_isolation') USING ERRCODE = 'feature_not_supported',
      HINT = 'Set default_transaction_isolation to read committed for the account.';
  END IF;
  PERFORM set_config('lock_timeout', p_wait::text, true);
END $$;

-- lock_of is the number of the lock of a shard.
CREATE FUNCTION @.lock_of(p_type bytea, p_shard bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS
  $$ SELECT hashtextextended('@' || encode(p_type, 'hex'), p_shard) $$;

-- own locks a shard until the end of the transaction. All that writes for a shard does so first, and
-- looks at its token then: so a later hosting waits for the calls of the earlier ones before it is let
-- in. Locks of rows do not keep the order of those that wait, and a hosting would wait as long as many
-- others write; these locks do. A collision of their numbers costs a wait.
CREATE FUNCTION @.own(p_type bytea, p_shard bigint, p_wait int) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  PERFORM @.ready(p_wait);
  PERFORM pg_advisory_xact_lock(@.lock_of(p_type, p_shard));
END $$;

-- fence begins a hosting, and returns whether none with a higher token was here.
CREATE FUNCTION @.fence(p_type bytea, p_shard bigint, p_token bytea, p_wait int) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
  v_kind  int;
  v_token bytea;
BEGIN
  PERFORM @.own(p_type, p_shard, p_wait);
  SELECT k.id INTO v_kind FROM @.kinds k WHERE k.name = p_type;
  IF v_kind IS NULL THEN
    INSERT INTO @.kinds (name) VALUES (p_type) ON CONFLICT DO NOTHING;
    SELECT k.id INTO STRICT v_kind FROM @.kinds k WHERE k.name = p_type;
  END IF;
  INSERT INTO @.fences AS f (kind, shard, token, hosting)
    VALUES (v_kind, p_shard, p_token, nextval('@.hostings'))
    ON CONFLICT (kind, shard) DO UPDATE SET token = EXCLUDED.token, hosting = EXCLUDED.hosting
    WHERE f.token < EXCLUDED.token;
  SELECT f.token INTO STRICT v_token FROM @.fences f WHERE f.kind = v_kind AND f.shard = p_shard;
  RETURN v_token = p_token;
END $$;

-- enter locks a shard for a call of a hosting until the end of the transaction. hosting is NULL if
-- the hosting has not begun, and -1 if a later one has.
CREATE FUNCTION @.enter(p_type bytea, p_shard bigint, p_token bytea, p_wait int,
  OUT kind int, OUT hosting bigint)
LANGUAGE plpgsql AS $$
DECLARE
  v_token bytea;
BEGIN
  PERFORM @.own(p_type, p_shard, p_wait);
  SELECT f.kind, f.hosting, f.token INTO kind, hosting, v_token
    FROM @.fences f
    WHERE f.kind = (SELECT k.id FROM @.kinds k WHERE k.name = p_type) AND f.shard = p_shard;
  IF v_token > p_token THEN
    hosting := -1;
  ELSIF v_token < p_token THEN
    hosting := NULL;
  END IF;
END $$;

-- now_era returns the number of this run of the server, and begins it if no event was stored in it yet.
--
-- 1. A server stores an event, and a reader sees it. 2. The transaction is lost: a standby takes over that
-- has not got it, or a backup is put back. 3. The server gives the number of that transaction to another
-- one, which stores an event. 4. The reader goes on after the place of the first event. The second one is
-- of a later era, so the reader finds it. Every way to lose a transaction has another server process, so
-- the time at which that was started shows it. The beginning of an era may be lost, too: the clock makes
-- the number of the one that follows a higher one.
CREATE FUNCTION @.now_era() RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  v_era bigint;
BEGIN
  SELECT m.era INTO v_era FROM @.meta m WHERE m.started = pg_postmaster_start_time();
  IF v_era IS NULL THEN
    UPDATE @.meta m SET started = pg_postmaster_start_time(),
        era = greatest(m.era + 1, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)
      WHERE m.started <> pg_postmaster_start_time(); -- of those that come at one time, the first one changes it
    SELECT m.era INTO STRICT v_era FROM @.meta m WHERE m.started = pg_postmaster_start_time();
  END IF;
  RETURN v_era;
END $$;

-- collided ends the transaction because of a concurrent one. The caller repeats it.
CREATE FUNCTION @.collided() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'a write of another hosting came between' USING ERRCODE = 'serialization_failure';
END $$;

-- The functions below look rows up by their keys, also when a table has hardly any rows and the plan is
-- kept. A scan of a whole table, where there is no key, would seem so dear that it is compiled: that
-- takes ten times as long as the call. The plan is kept because the server would prefer one for the
-- lengths of the arrays of each call, and to make that takes as long as the call of a few rows.

-- append stores writes of hostings. Element i of w_of says which hosting write i is of, and of e_of which
-- write event i belongs to. entered is for each hosting as that of enter, or -2 if the shard is locked; then
-- none of its writes is stored, nor refused. refused are the numbers, from 1, of the writes that do not fit.
--
-- A joint call is of several shards. It waits for none that another call has locked, so that shards hold up
-- no others and the order of locks does not matter. Another call is of one shard, and waits. The locks come
-- before the statement that looks at tokens: that one sees what those have committed which had them before.
--
-- A write fits after the last event of the history. It must not only be there: its transaction must
-- have a lower number, because readers go by that. The primary key decides between hostings of
-- different shards, which no lock keeps apart: the one that comes too late ends with unique_violation, and
-- its caller repeats it.
CREATE FUNCTION @.append(h_type bytea[], h_shard bigint[], h_token bytea[], p_wait int, p_joint boolean, p_first int,
  w_of int[], w_entity bytea[], w_after bigint[], w_id bigint[], w_count int[],
  e_of int[], e_entity bytea[], e_slice smallint[], e_seq bigint[], e_name bytea[], e_version bigint[], e_at bigint[],
  e_tags bytea[], e_body bytea[], e_sum bigint[],
  OUT entered bigint[], OUT refused int[])
LANGUAGE plpgsql SET enable_seqscan = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  v_locked boolean[] := '{true}';
  v_kinds  int[];
  v_era    bigint;
  v_xid    bigint;
  v_out    int[]; -- the writes that are not stored
  v_any    boolean;
  v_ahead  boolean;
BEGIN
  IF p_joint THEN
    PERFORM @.ready(p_wait);
    SELECT array_agg(pg_try_advisory_xact_lock(@.lock_of(h.type, h.shard)) ORDER BY h.i) INTO v_locked
      FROM unnest(h_type, h_shard) WITH ORDINALITY AS h (type, shard, i);
  ELSE
    PERFORM @.own(h_type[1], h_shard[1], p_wait);
  END IF;

  SELECT array_agg(f.kind ORDER BY h.i), array_agg(CASE
      WHEN NOT h.locked THEN -2
      WHEN f.token > h.token THEN -1
      WHEN f.token = h.token THEN f.hosting
    END ORDER BY h.i)
    INTO v_kinds, entered
    FROM unnest(h_type, h_shard, h_token, v_locked) WITH ORDINALITY AS h (type, shard, token, locked, i)
    LEFT JOIN LATERAL (
      SELECT f.kind, f.token, f.hosting FROM @.fences f
        WHERE f.kind = (SELECT k.id FROM @.kinds k WHERE k.name = h.type) AND f.shard = h.shard LIMIT 1) f ON true;
  IF (0 < ANY (entered)) IS NOT TRUE THEN
    RETURN;
  END IF;

  v_xid := pg_current_xact_id()::text::bigint;
  v_era := @.now_era();

  SELECT bool_or(c.fits), bool_or(c.fits AND c.ahead), array_agg(c.i::int) FILTER (WHERE NOT c.fits),
      array_agg(c.i::int) FILTER (WHERE c.inside AND NOT c.fits AND NOT c.repeated)
    INTO v_any, v_ahead, v_out, refused
    FROM (
      SELECT w.i, h.inside, h.inside AND COALESCE(l.seq, d.upto, 0) = w.after AS fits,
          COALESCE(l.era = v_era AND l.xid > v_xid, false) AS ahead,
          COALESCE(COALESCE(l.seq, d.upto) = w.after + w.count AND COALESCE(l.hosting, d.hosting) = h.hosting
            AND COALESCE(l.write, d.write) = w.id, false) AS repeated
        FROM unnest(w_of, w_entity, w_after, w_id, w_count) WITH ORDINALITY AS w (of, entity, after, id, count, i)
        CROSS JOIN LATERAL (
          SELECT v_kinds[w.of] AS kind, entered[w.of] AS hosting, COALESCE(entered[w.of] > 0, false) AS inside) h
        LEFT JOIN LATERAL (
          SELECT e.seq, e.era, e.xid, e.hosting, e.write FROM @.events e
            WHERE e.kind = h.kind AND e.entity = w.entity ORDER BY e.seq DESC LIMIT 1) l ON true
        LEFT JOIN LATERAL (
          SELECT x.upto, x.hosting, x.write FROM @.deletions x
            WHERE x.kind = h.kind AND x.entity = w.entity AND l.seq IS NULL LIMIT 1) d ON true
    ) c;
  IF v_any IS NOT TRUE THEN
    RETURN;
  END IF;
  IF v_ahead THEN
    PERFORM @.collided();
  END IF;

  INSERT INTO @.events (kind, entity, seq, era, xid, n, slice, hosting, write, name, version, at, tags, body, sum)
    SELECT v_kinds[w_of[e.of]], e.entity, e.seq, v_era, v_xid, p_first + e.i::int, e.slice, entered[w_of[e.of]],
        w_id[e.of], e.name, e.version, e.at, e.tags, e.body, e.sum
      FROM unnest(e_of, e_entity, e_slice, e_seq, e_name, e_version, e_at, e_tags, e_body, e_sum)
        WITH ORDINALITY AS e (of, entity, slice, seq, name, version, at, tags, body, sum, i)
      WHERE (e.of = ANY (v_out)) IS NOT TRUE;
END $$;

-- forget deletes the events of an entity up to a number, and keeps the number.
CREATE FUNCTION @.forget(p_type bytea, p_shard bigint, p_token bytea, p_wait int, p_entity bytea, p_upto bigint,
  OUT entered bigint)
LANGUAGE plpgsql SET enable_seqscan = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  v_kind int;
  v_upto bigint;
BEGIN
  SELECT * INTO v_kind, entered FROM @.enter(p_type, p_shard, p_token, p_wait);
  IF entered IS NULL OR entered < 0 THEN
    RETURN;
  END IF;
  INSERT INTO @.deletions AS d (kind, entity, upto, hosting, write)
    SELECT e.kind, e.entity, e.seq, e.hosting, e.write FROM @.events e
      WHERE e.kind = v_kind AND e.entity = p_entity AND e.seq <= p_upto ORDER BY e.seq DESC LIMIT 1
    ON CONFLICT (kind, entity) DO UPDATE
      SET upto = EXCLUDED.upto, hosting = EXCLUDED.hosting, write = EXCLUDED.write
      WHERE d.upto < EXCLUDED.upto
    RETURNING d.upto INTO v_upto;
  DELETE FROM @.events e WHERE e.kind = v_kind AND e.entity = p_entity AND e.seq <= v_upto;
END $$;

-- save_snapshots stores snapshots, and replaces those of the same entity and number.
CREATE FUNCTION @.save_snapshots(p_type bytea, p_shard bigint, p_token bytea, p_wait int,
  s_entity bytea[], s_seq bigint[], s_name bytea[], s_version bigint[], s_at bigint[], s_body bytea[], s_sum bigint[],
  OUT entered bigint)
LANGUAGE plpgsql SET enable_seqscan = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  v_kind int;
BEGIN
  SELECT * INTO v_kind, entered FROM @.enter(p_type, p_shard, p_token, p_wait);
  IF entered IS NULL OR entered < 0 THEN
    RETURN;
  END IF;
  INSERT INTO @.snapshots (kind, entity, seq, name, version, at, body, sum)
    SELECT v_kind, s.* FROM unnest(s_entity, s_seq, s_name, s_version, s_at, s_body, s_sum) s
    ON CONFLICT (kind, entity, seq) DO UPDATE
      SET name = EXCLUDED.name, version = EXCLUDED.version, at = EXCLUDED.at, body = EXCLUDED.body, sum = EXCLUDED.sum;
END $$;

-- forget_snapshots deletes the snapshots of an entity up to a number.
CREATE FUNCTION @.forget_snapshots(p_type bytea, p_shard bigint, p_token bytea, p_wait int, p_entity bytea,
  p_upto bigint, OUT entered bigint)
LANGUAGE plpgsql SET enable_seqscan = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  v_kind int;
BEGIN
  SELECT * INTO v_kind, entered FROM @.enter(p_type, p_shard, p_token, p_wait);
  IF entered IS NULL OR entered < 0 THEN
    RETURN;
  END IF;
  DELETE FROM @.snapshots s WHERE s.kind = v_kind AND s.entity = p_entity AND s.seq <= p_upto;
END $$;

-- save_states replaces the values of entities whose revision is that of s_after.
CREATE FUNCTION @.save_states(p_type bytea, p_shard bigint, p_token bytea, p_wait int,
  s_entity bytea[], s_after bigint[], s_id bigint[], s_deleted boolean[], s_name bytea[], s_version bigint[],
  s_at bigint[], s_tags bytea[], s_body bytea[], s_sum bigint[],
  OUT entered bigint, OUT refused int[])
LANGUAGE plpgsql SET enable_seqscan = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  v_kind   int;
  v_fits   boolean[];
  v_count  bigint;
  v_stored bigint;
BEGIN
  SELECT * INTO v_kind, entered FROM @.enter(p_type, p_shard, p_token, p_wait);
  IF entered IS NULL OR entered < 0 THEN
    RETURN;
  END IF;
  SELECT array_agg(c.fits ORDER BY c.i), count(*) FILTER (WHERE c.fits),
      array_agg(c.i::int ORDER BY c.i) FILTER (WHERE NOT c.fits AND NOT c.repeated)
    INTO v_fits, v_count, refused
    FROM (
      SELECT w.i, COALESCE(o.revision, 0) = w.after AS fits,
          COALESCE(o.revision = w.after + 1 AND o.hosting = entered AND o.write = w.id, false) AS repeated
        FROM unnest(s_entity, s_after, s_id) WITH ORDINALITY AS w (entity, after, id, i)
        LEFT JOIN LATERAL (
          SELECT s.revision, s.hosting, s.write FROM @.states s
            WHERE s.kind = v_kind AND s.entity = w.entity LIMIT 1) o ON true
    ) c;

  INSERT INTO @.states AS o (kind, entity, revision, hosting, write, deleted, name, version, at, tags, body, sum)
    SELECT v_kind, s.entity, s.after + 1, entered, s.id, s.deleted, s.name, s.version, s.at, s.tags, s.body, s.sum
      FROM unnest(s_entity, s_after, s_id, s_deleted, s_name, s_version, s_at, s_tags, s_body, s_sum)
        WITH ORDINALITY AS s (entity, after, id, deleted, name, version, at, tags, body, sum, i)
      WHERE v_fits[s.i]
    ON CONFLICT (kind, entity) DO UPDATE
      SET revision = EXCLUDED.revision, hosting = EXCLUDED.hosting, write = EXCLUDED.write, deleted = EXCLUDED.deleted,
        name = EXCLUDED.name, version = EXCLUDED.version, at = EXCLUDED.at, tags = EXCLUDED.tags, body = EXCLUDED.body,
        sum = EXCLUDED.sum
      WHERE o.revision = EXCLUDED.revision - 1;
  GET DIAGNOSTICS v_stored = ROW_COUNT;
  IF v_stored <> v_count THEN
    PERFORM @.collided();
  END IF;
END $$;
