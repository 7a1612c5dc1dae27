-- Format 2 appends for several shards in one transaction. The name of the schema stands for @.

-- append_several stores writes of several hostings, of which element i of w_of says which one write i
-- belongs to. It waits for no shard that another call has locked, so that shards hold up no others and
-- the order of locks does not matter. entered has for each hosting what that of append is, or -2 if
-- the shard is locked; then none of its writes is stored, nor refused. Everything else is as in append.
--
-- The locks come before the statement that looks at tokens: that one sees what those have committed
-- which had them before.
CREATE FUNCTION @.append_several(h_type bytea[], h_shard bigint[], h_token bytea[], p_wait int,
  w_of int[], w_entity bytea[], w_after bigint[], w_id bigint[], w_count int[],
  e_of int[], e_entity bytea[], e_slice smallint[], e_seq bigint[], e_name bytea[], e_version bigint[], e_at bigint[],
  e_tags bytea[], e_body bytea[], e_sum bigint[],
  OUT entered bigint[], OUT refused int[])
LANGUAGE plpgsql SET enable_seqscan = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  v_locked boolean[];
  v_kinds  int[];
  v_era    int;
  v_xid    bigint;
  v_fits   boolean[];
  v_count  bigint;
  v_stored bigint;
  v_ahead  boolean;
BEGIN
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RETURN; -- the caller repeats each call alone, and is told
  END IF;
  PERFORM set_config('lock_timeout', p_wait::text, true);
  SELECT array_agg(pg_try_advisory_xact_lock(hashtextextended('@' || encode(h.type, 'hex'), h.shard)) ORDER BY h.i)
    INTO v_locked
    FROM unnest(h_type, h_shard) WITH ORDINALITY AS h (type, shard, i);

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

  v_xid := pg_current_xact_id()::text::bigint;
  SELECT m.era INTO STRICT v_era FROM @.meta m WHERE m.one;

  SELECT array_agg(c.fits ORDER BY c.i), sum(c.count) FILTER (WHERE c.fits), bool_or(c.fits AND c.ahead),
      array_agg(c.i::int ORDER BY c.i) FILTER (WHERE c.inside AND NOT c.fits AND NOT c.repeated)
    INTO v_fits, v_count, v_ahead, refused
    FROM (
      SELECT w.i, w.count, h.inside, h.inside AND COALESCE(l.seq, d.upto, 0) = w.after AS fits,
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
  IF v_count IS NULL THEN
    RETURN;
  END IF;
  IF v_ahead THEN
    PERFORM @.collided();
  END IF;

  INSERT INTO @.events (kind, entity, seq, era, xid, n, slice, hosting, write, name, version, at, tags, body, sum)
    SELECT v_kinds[w_of[e.of]], e.entity, e.seq, v_era, v_xid, e.i::int, e.slice, entered[w_of[e.of]], w_id[e.of],
        e.name, e.version, e.at, e.tags, e.body, e.sum
      FROM unnest(e_of, e_entity, e_slice, e_seq, e_name, e_version, e_at, e_tags, e_body, e_sum)
        WITH ORDINALITY AS e (of, entity, slice, seq, name, version, at, tags, body, sum, i)
      WHERE v_fits[e.of]
    ON CONFLICT DO NOTHING;
  GET DIAGNOSTICS v_stored = ROW_COUNT;
  IF v_stored <> v_count THEN
    PERFORM @.collided();
  END IF;
END $$;
