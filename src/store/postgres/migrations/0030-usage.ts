// Schema version 30: the ledger of use. Triggers open and end its rows in the transaction of the sandbox.

/** As they were at this version. */
const AMOUNTS = [
  'sandbox_ms',
  'vcpu_ms',
  'memory_mb_ms',
  'cpu_us',
  'used_mb_ms',
  'rx_bytes',
  'tx_bytes',
  'execs',
  'exec_ms',
];
const AMOUNT_COLUMNS = AMOUNTS.map((name) => `${name} bigint NOT NULL DEFAULT 0`).join(',\n  ');
const ADD_TO_ROW = AMOUNTS.map((name) => `${name} = u.${name} + (change->>'${name}')::bigint`).join(', ');
const ADD_TO_HOUR = AMOUNTS.map((name) => `${name} = usage_hours.${name} + excluded.${name}`).join(', ');
const OF_HOUR = AMOUNTS.map((name) => `(of_hour->'amounts'->>'${name}')::bigint`).join(', ');
const NAMES = ['sandboxes', ...AMOUNTS];

export const USAGE = `
CREATE TABLE usage_sandboxes (
  sandbox_id text COLLATE "C" NOT NULL PRIMARY KEY,
  owner_id text COLLATE "C" NOT NULL,
  provider text COLLATE "C" NOT NULL,
  template text COLLATE "C" NOT NULL,
  vcpus bigint NOT NULL,
  memory_mb bigint NOT NULL,
  started_at text COLLATE "C" NOT NULL,
  ended_at text COLLATE "C",
  claimed bigint NOT NULL DEFAULT 0,
  settled bigint NOT NULL DEFAULT 0,
  version bigint NOT NULL DEFAULT 0,
  metered_to text COLLATE "C" NOT NULL,
  counter text COLLATE "C",
  sampled_at text COLLATE "C",
  last_cpu_us bigint NOT NULL DEFAULT 0,
  last_rx_bytes bigint NOT NULL DEFAULT 0,
  last_tx_bytes bigint NOT NULL DEFAULT 0,
  last_oom_kills bigint NOT NULL DEFAULT 0,
  peak_memory_bytes bigint NOT NULL DEFAULT 0,
  oom_kills bigint NOT NULL DEFAULT 0,
  estimated bigint NOT NULL DEFAULT 0,
  ${AMOUNT_COLUMNS}
);
CREATE INDEX usage_sandboxes_by_owner ON usage_sandboxes (owner_id, started_at, sandbox_id);
CREATE INDEX usage_sandboxes_open ON usage_sandboxes (sandbox_id) WHERE settled = 0;
CREATE INDEX usage_sandboxes_ended ON usage_sandboxes (ended_at) WHERE settled = 1;

CREATE TABLE usage_hours (
  owner_id text COLLATE "C" NOT NULL,
  hour bigint NOT NULL,
  provider text COLLATE "C" NOT NULL,
  template text COLLATE "C" NOT NULL,
  sandboxes bigint NOT NULL DEFAULT 0,
  ${AMOUNT_COLUMNS},
  PRIMARY KEY (owner_id, hour, provider, template)
);
CREATE INDEX usage_hours_by_hour ON usage_hours (hour);

CREATE TABLE usage_state (one bigint NOT NULL PRIMARY KEY CHECK (one = 1), complete_until text COLLATE "C" NOT NULL);

CREATE FUNCTION svc_usage_begins() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO usage_sandboxes
      (sandbox_id, owner_id, provider, template, vcpus, memory_mb, started_at, metered_to, claimed)
    VALUES (NEW.id, coalesce(NEW.owner_id, ''), NEW.provider, coalesce(NEW.template, ''), NEW.vcpus, NEW.memory_mb,
      NEW.created_at, NEW.created_at, CASE WHEN TG_OP = 'INSERT' THEN 1 ELSE 0 END)
    ON CONFLICT (sandbox_id) DO NOTHING;
  RETURN NULL;
END $$;
CREATE TRIGGER usage_begins AFTER UPDATE OF state ON sandboxes
  FOR EACH ROW WHEN (NEW.state = 'running') EXECUTE FUNCTION svc_usage_begins();
CREATE TRIGGER usage_claimed AFTER INSERT ON sandboxes
  FOR EACH ROW WHEN (NEW.state = 'running') EXECUTE FUNCTION svc_usage_begins();

CREATE FUNCTION svc_usage_ends() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE usage_sandboxes SET ended_at = NEW.ended_at WHERE sandbox_id = NEW.id AND ended_at IS NULL;
  RETURN NULL;
END $$;
CREATE TRIGGER usage_ends AFTER UPDATE OF ended_at ON sandboxes
  FOR EACH ROW WHEN (NEW.ended_at IS NOT NULL) EXECUTE FUNCTION svc_usage_ends();

CREATE FUNCTION svc_add_usage_30(place usage_sandboxes, of_hour jsonb, begins bigint) RETURNS void LANGUAGE sql AS $$
  INSERT INTO usage_hours (owner_id, hour, provider, template, sandboxes, ${AMOUNTS.join(', ')})
    VALUES (place.owner_id, (of_hour->>'hour')::bigint, place.provider, place.template, begins, ${OF_HOUR})
    ON CONFLICT (owner_id, hour, provider, template) DO UPDATE
      SET sandboxes = usage_hours.sandboxes + excluded.sandboxes, ${ADD_TO_HOUR}
$$;

CREATE FUNCTION svc_settle_usage_30(changes jsonb) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
  change jsonb;
  of_hour jsonb;
  place usage_sandboxes;
BEGIN
  FOR change IN SELECT * FROM jsonb_array_elements(changes) LOOP
    UPDATE usage_sandboxes u SET version = u.version + 1, metered_to = change->>'metered_to',
        settled = (change->>'settled')::bigint, counter = change->>'counter', sampled_at = change->>'sampled_at',
        last_cpu_us = (change->>'last_cpu_us')::bigint, last_rx_bytes = (change->>'last_rx_bytes')::bigint,
        last_tx_bytes = (change->>'last_tx_bytes')::bigint, last_oom_kills = (change->>'last_oom_kills')::bigint,
        peak_memory_bytes = (change->>'peak_memory_bytes')::bigint, oom_kills = (change->>'oom_kills')::bigint,
        estimated = (change->>'estimated')::bigint, ${ADD_TO_ROW}
      WHERE u.sandbox_id = change->>'sandbox_id' AND u.version = (change->>'version')::bigint
        AND (change->>'settled' = '0' OR (u.ended_at IS NOT NULL AND u.ended_at <= change->>'metered_to'))
      RETURNING u.* INTO place;
    IF FOUND THEN
      FOR of_hour IN SELECT * FROM jsonb_array_elements(change->'hours') LOOP
        PERFORM svc_add_usage_30(place, of_hour, (of_hour->>'begins')::bigint);
      END LOOP;
      RETURN NEXT place.sandbox_id;
    ELSIF EXISTS (SELECT 1 FROM usage_sandboxes u WHERE u.sandbox_id = change->>'sandbox_id'
        AND u.version = (change->>'version')::bigint + 1 AND u.metered_to = change->>'metered_to'
        AND u.sampled_at IS NOT DISTINCT FROM change->>'sampled_at') THEN
      RETURN NEXT change->>'sandbox_id';
    END IF;
  END LOOP;
END $$;

CREATE FUNCTION svc_join_usage_30(before bigint, most bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  joined bigint := 0;
  old usage_hours;
BEGIN
  FOR old IN SELECT * FROM usage_hours WHERE hour < before AND hour % 24 <> 0 ORDER BY hour LIMIT most FOR UPDATE SKIP LOCKED LOOP
    INSERT INTO usage_hours (owner_id, hour, provider, template, ${NAMES.join(', ')})
      VALUES (old.owner_id, old.hour - old.hour % 24, old.provider, old.template, ${NAMES.map((name) => `old.${name}`).join(', ')})
      ON CONFLICT (owner_id, hour, provider, template) DO UPDATE
        SET ${NAMES.map((name) => `${name} = usage_hours.${name} + excluded.${name}`).join(', ')};
    DELETE FROM usage_hours u WHERE u.owner_id = old.owner_id AND u.hour = old.hour AND u.provider = old.provider
      AND u.template = old.template;
    joined := joined + 1;
  END LOOP;
  RETURN joined;
END $$;

INSERT INTO usage_sandboxes (sandbox_id, owner_id, provider, template, vcpus, memory_mb, started_at, metered_to)
  SELECT id, coalesce(owner_id, ''), provider, coalesce(template, ''), vcpus, memory_mb, created_at, created_at
    FROM sandboxes WHERE state IN ('running', 'unhealthy');
`;
