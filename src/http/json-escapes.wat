;; Writes text as it stands within the quotes of a JSON string. `npm run generate` makes json-escapes.ts of this file.
;;
;; Sixteen bytes are looked at together: most need no escape. The memory begins with a table of eight bytes for each byte below 0x80,
;; its escape and, in the last of them, the length of that; whoever makes an instance fills it.
(module
  ;; The table, 64 KiB of text and as much as six times that of escapes.
  (memory (export "memory") 8)

  ;; Reads from `from` up to `end`, which must be UTF-8, and writes to `to`; answers where that ends. It may read 15 bytes too many and
  ;; write as many.
  (func (export "escapeInto") (param $from i32) (param $end i32) (param $to i32) (result i32)
    (local $text v128)
    (local $found i32)
    (local $plain i32)
    (local $escape i64)
    (local $turn v128)
    (local $space v128)
    (local $backslash v128)
    (local.set $turn (i8x16.splat (i32.const 0x02)))
    (local.set $space (i8x16.splat (i32.const 0x20)))
    (local.set $backslash (i8x16.splat (i32.const 0x5c)))
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $from) (local.get $end)))
        (local.set $text (v128.load align=1 (local.get $from)))
        (v128.store align=1 (local.get $to) (local.get $text))
        ;; A bit for each byte that needs an escape. With 0x02 turned, a quote is 0x20, a space is 0x22, and what was below 0x20
        ;; still is: one comparison finds both.
        (local.set $found
          (i8x16.bitmask
            (v128.or
              (i8x16.le_u (v128.xor (local.get $text) (local.get $turn)) (local.get $space))
              (i8x16.eq (local.get $text) (local.get $backslash)))))
        (if (i32.eqz (local.get $found))
          (then
            (local.set $from (i32.add (local.get $from) (i32.const 16)))
            (local.set $to (i32.add (local.get $to) (i32.const 16)))
            (br $next)))
        ;; The bytes before the first of them stay as they are written.
        (local.set $plain (i32.ctz (local.get $found)))
        (local.set $from (i32.add (local.get $from) (local.get $plain)))
        (local.set $to (i32.add (local.get $to) (local.get $plain)))
        (br_if $done (i32.ge_u (local.get $from) (local.get $end)))
        (local.set $escape (i64.load (i32.shl (i32.load8_u (local.get $from)) (i32.const 3))))
        (i64.store align=1 (local.get $to) (local.get $escape))
        (local.set $from (i32.add (local.get $from) (i32.const 1)))
        (local.set $to
          (i32.add (local.get $to) (i32.wrap_i64 (i64.shr_u (local.get $escape) (i64.const 56)))))
        (br $next)))
    ;; What was taken beyond the end does not count.
    (i32.sub (local.get $to) (i32.sub (local.get $from) (local.get $end)))))
