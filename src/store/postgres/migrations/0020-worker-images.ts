// Schema version 20: images that workers have, for the choice among them.
export const WORKER_IMAGES = `
ALTER TABLE workers ADD COLUMN images text NOT NULL DEFAULT '[]';

-- Returns 'heard', 'full' or 'taken', as svc_claimed_heartbeat_18 does. What the body omits stays.
CREATE FUNCTION svc_claimed_heartbeat_20(worker text, body jsonb, at text, most bigint, print text, silent_since text)
  RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  kind text := svc_claimed_heartbeat_18(worker, body, at, most, print, silent_since);
BEGIN
  IF kind = 'heard' AND body->>'images' IS NOT NULL THEN
    UPDATE workers SET images = body->>'images' WHERE id = worker AND images <> body->>'images';
  END IF;
  RETURN kind;
END $$;
`;
