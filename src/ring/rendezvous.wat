;; XXH3-64 for any length, and weighted rendezvous over 16-byte keys. Written by hand; `npm run gen` assembles it.
;;
;; Memory: 0 default secret (192 bytes) | 192 secret derived from a seed | 384 accumulators (8 x i64) | 1024 and up: the caller's.
(module
  (memory (export "memory") 1)
  (data (i32.const 0)
    "\b8\fe\6c\39\23\a4\4b\be\7c\01\81\2c\f7\21\ad\1c\de\d4\6d\e9\83\90\97\db\72\40\a4\a4\b7\b3\67\1f"
    "\cb\79\e6\4e\cc\c0\e5\78\82\5a\d0\7d\cc\ff\72\21\b8\08\46\74\f7\43\24\8e\e0\35\90\e6\81\3a\26\4c"
    "\3c\28\52\bb\91\c3\00\cb\88\d0\65\8b\1b\53\2e\a3\71\64\48\97\a2\0d\f9\4e\38\19\ef\46\a9\de\ac\d8"
    "\a8\fa\76\3f\e3\9c\34\3f\f9\dc\bb\c7\c7\0b\4f\1d\8a\51\e0\4b\cd\b4\59\31\c8\9f\7e\c9\d9\78\73\64"
    "\ea\c5\ac\83\34\d3\eb\c3\c5\81\a0\ff\fa\13\63\eb\17\0d\dd\51\b7\f0\da\49\d3\16\55\26\29\d4\68\9e"
    "\2b\16\be\58\7d\47\a1\fc\8f\f8\b8\d1\7a\d0\31\ce\45\cb\3a\8f\95\16\04\28\af\d7\fb\ca\bb\4b\40\7e"
  )

  (func $rotl24_49 (param $h i64) (result i64)
    (i64.xor (local.get $h) (i64.xor (i64.rotl (local.get $h) (i64.const 49)) (i64.rotl (local.get $h) (i64.const 24)))))

  (func $swap32 (param $x i32) (result i32)
    (i32.or
      (i32.and (i32.rotl (local.get $x) (i32.const 8)) (i32.const 0x00ff00ff))
      (i32.and (i32.rotl (local.get $x) (i32.const 24)) (i32.const 0xff00ff00))))

  (func $swap64 (param $x i64) (result i64)
    (i64.or
      (i64.shl (i64.extend_i32_u (call $swap32 (i32.wrap_i64 (local.get $x)))) (i64.const 32))
      (i64.extend_i32_u (call $swap32 (i32.wrap_i64 (i64.shr_u (local.get $x) (i64.const 32)))))))

  ;; The 128-bit product, its halves xored.
  (func $fold (param $a i64) (param $b i64) (result i64)
    (local $al i64) (local $ah i64) (local $bl i64) (local $bh i64)
    (local $ll i64) (local $hl i64) (local $lh i64) (local $cross i64)
    (local.set $al (i64.and (local.get $a) (i64.const 0xffffffff)))
    (local.set $ah (i64.shr_u (local.get $a) (i64.const 32)))
    (local.set $bl (i64.and (local.get $b) (i64.const 0xffffffff)))
    (local.set $bh (i64.shr_u (local.get $b) (i64.const 32)))
    (local.set $ll (i64.mul (local.get $al) (local.get $bl)))
    (local.set $hl (i64.mul (local.get $ah) (local.get $bl)))
    (local.set $lh (i64.mul (local.get $al) (local.get $bh)))
    (local.set $cross
      (i64.add
        (i64.add (i64.shr_u (local.get $ll) (i64.const 32)) (i64.and (local.get $hl) (i64.const 0xffffffff)))
        (local.get $lh)))
    (i64.xor
      (i64.or (i64.shl (local.get $cross) (i64.const 32)) (i64.and (local.get $ll) (i64.const 0xffffffff)))
      (i64.add
        (i64.add (i64.shr_u (local.get $hl) (i64.const 32)) (i64.shr_u (local.get $cross) (i64.const 32)))
        (i64.mul (local.get $ah) (local.get $bh)))))

  (func $avalanche (param $h i64) (result i64)
    (local.set $h (i64.xor (local.get $h) (i64.shr_u (local.get $h) (i64.const 37))))
    (local.set $h (i64.mul (local.get $h) (i64.const 0x165667919e3779f9)))
    (i64.xor (local.get $h) (i64.shr_u (local.get $h) (i64.const 32))))

  (func $avalanche_xxh64 (param $h i64) (result i64)
    (local.set $h (i64.xor (local.get $h) (i64.shr_u (local.get $h) (i64.const 33))))
    (local.set $h (i64.mul (local.get $h) (i64.const 0xc2b2ae3d27d4eb4f)))
    (local.set $h (i64.xor (local.get $h) (i64.shr_u (local.get $h) (i64.const 29))))
    (local.set $h (i64.mul (local.get $h) (i64.const 0x165667b19e3779f9)))
    (i64.xor (local.get $h) (i64.shr_u (local.get $h) (i64.const 32))))

  (func $hash_1_3 (param $p i32) (param $len i32) (param $seed i64) (result i64)
    (local $combined i32)
    (local.set $combined
      (i32.or
        (i32.or
          (i32.shl (i32.load8_u (local.get $p)) (i32.const 16))
          (i32.shl (i32.load8_u (i32.add (local.get $p) (i32.shr_u (local.get $len) (i32.const 1)))) (i32.const 24)))
        (i32.or
          (i32.load8_u (i32.add (local.get $p) (i32.sub (local.get $len) (i32.const 1))))
          (i32.shl (local.get $len) (i32.const 8)))))
    (call $avalanche_xxh64
      (i64.xor
        (i64.extend_i32_u (local.get $combined))
        (i64.add (i64.extend_i32_u (i32.xor (i32.load (i32.const 0)) (i32.load (i32.const 4)))) (local.get $seed)))))

  (func $hash_4_8 (param $p i32) (param $len i32) (param $seed i64) (result i64)
    (local $h i64)
    (local.set $seed
      (i64.xor (local.get $seed) (i64.shl (i64.extend_i32_u (call $swap32 (i32.wrap_i64 (local.get $seed)))) (i64.const 32))))
    (local.set $h
      (call $rotl24_49
        (i64.xor
          (i64.add
            (i64.load32_u (i32.add (local.get $p) (i32.sub (local.get $len) (i32.const 4))))
            (i64.shl (i64.load32_u (local.get $p)) (i64.const 32)))
          (i64.sub (i64.xor (i64.load (i32.const 8)) (i64.load (i32.const 16))) (local.get $seed)))))
    (local.set $h (i64.mul (local.get $h) (i64.const 0x9fb21c651e98df25)))
    (local.set $h
      (i64.xor
        (local.get $h)
        (i64.add (i64.shr_u (local.get $h) (i64.const 35)) (i64.extend_i32_u (local.get $len)))))
    (local.set $h (i64.mul (local.get $h) (i64.const 0x9fb21c651e98df25)))
    (i64.xor (local.get $h) (i64.shr_u (local.get $h) (i64.const 28))))

  (func $flip_low (param $seed i64) (result i64)
    (i64.add (i64.xor (i64.load (i32.const 24)) (i64.load (i32.const 32))) (local.get $seed)))

  (func $flip_high (param $seed i64) (result i64)
    (i64.sub (i64.xor (i64.load (i32.const 40)) (i64.load (i32.const 48))) (local.get $seed)))

  (func $hash_9_16 (param $p i32) (param $len i32) (param $seed i64) (result i64)
    (local $low i64) (local $high i64)
    (local.set $low (i64.xor (i64.load (local.get $p)) (call $flip_low (local.get $seed))))
    (local.set $high
      (i64.xor (i64.load (i32.add (local.get $p) (i32.sub (local.get $len) (i32.const 8)))) (call $flip_high (local.get $seed))))
    (call $avalanche
      (i64.add
        (i64.add (i64.extend_i32_u (local.get $len)) (call $swap64 (local.get $low)))
        (i64.add (local.get $high) (call $fold (local.get $low) (local.get $high))))))

  (func $mix16 (param $p i32) (param $secret i32) (param $seed i64) (result i64)
    (call $fold
      (i64.xor (i64.load (local.get $p)) (i64.add (i64.load (local.get $secret)) (local.get $seed)))
      (i64.xor (i64.load offset=8 (local.get $p)) (i64.sub (i64.load offset=8 (local.get $secret)) (local.get $seed)))))

  ;; Pairs of 16-byte blocks, from both ends towards the middle.
  (func $hash_17_128 (param $p i32) (param $len i32) (param $seed i64) (result i64)
    (local $acc i64) (local $i i32) (local $pairs i32)
    (local.set $acc (i64.mul (i64.extend_i32_u (local.get $len)) (i64.const 0x9e3779b185ebca87)))
    (local.set $pairs (i32.shr_u (i32.add (i32.sub (local.get $len) (i32.const 1)) (i32.const 32)) (i32.const 5)))
    (loop $next
      (local.set $acc
        (i64.add
          (local.get $acc)
          (i64.add
            (call $mix16
              (i32.add (local.get $p) (i32.shl (local.get $i) (i32.const 4)))
              (i32.shl (local.get $i) (i32.const 5))
              (local.get $seed))
            (call $mix16
              (i32.sub (i32.add (local.get $p) (local.get $len)) (i32.shl (i32.add (local.get $i) (i32.const 1)) (i32.const 4)))
              (i32.add (i32.shl (local.get $i) (i32.const 5)) (i32.const 16))
              (local.get $seed)))))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $i) (local.get $pairs))))
    (call $avalanche (local.get $acc)))

  (func $hash_129_240 (param $p i32) (param $len i32) (param $seed i64) (result i64)
    (local $acc i64) (local $i i32) (local $rounds i32)
    (local.set $acc (i64.mul (i64.extend_i32_u (local.get $len)) (i64.const 0x9e3779b185ebca87)))
    (local.set $rounds (i32.shr_u (local.get $len) (i32.const 4)))
    (loop $first
      (local.set $acc
        (i64.add
          (local.get $acc)
          (call $mix16
            (i32.add (local.get $p) (i32.shl (local.get $i) (i32.const 4)))
            (i32.shl (local.get $i) (i32.const 4))
            (local.get $seed))))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $first (i32.lt_u (local.get $i) (i32.const 8))))
    (local.set $acc (call $avalanche (local.get $acc)))
    (block $done
      (loop $rest
        (br_if $done (i32.ge_u (local.get $i) (local.get $rounds)))
        (local.set $acc
          (i64.add
            (local.get $acc)
            (call $mix16
              (i32.add (local.get $p) (i32.shl (local.get $i) (i32.const 4)))
              (i32.add (i32.shl (i32.sub (local.get $i) (i32.const 8)) (i32.const 4)) (i32.const 3))
              (local.get $seed))))
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (br $rest)))
    (call $avalanche
      (i64.add
        (local.get $acc)
        (call $mix16 (i32.sub (i32.add (local.get $p) (local.get $len)) (i32.const 16)) (i32.const 119) (local.get $seed)))))

  ;; One 64-byte stripe into the accumulators.
  (func $accumulate (param $p i32) (param $secret i32)
    (local $i i32) (local $data i64) (local $key i64) (local $at i32)
    (loop $lane
      (local.set $data (i64.load (i32.add (local.get $p) (i32.shl (local.get $i) (i32.const 3)))))
      (local.set $key (i64.xor (local.get $data) (i64.load (i32.add (local.get $secret) (i32.shl (local.get $i) (i32.const 3))))))
      (local.set $at (i32.add (i32.const 384) (i32.shl (i32.xor (local.get $i) (i32.const 1)) (i32.const 3))))
      (i64.store (local.get $at) (i64.add (i64.load (local.get $at)) (local.get $data)))
      (local.set $at (i32.add (i32.const 384) (i32.shl (local.get $i) (i32.const 3))))
      (i64.store (local.get $at)
        (i64.add
          (i64.load (local.get $at))
          (i64.mul (i64.and (local.get $key) (i64.const 0xffffffff)) (i64.shr_u (local.get $key) (i64.const 32)))))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $lane (i32.lt_u (local.get $i) (i32.const 8)))))

  (func $scramble (param $secret i32)
    (local $i i32) (local $acc i64) (local $at i32)
    (loop $lane
      (local.set $at (i32.add (i32.const 384) (i32.shl (local.get $i) (i32.const 3))))
      (local.set $acc (i64.load (local.get $at)))
      (local.set $acc (i64.xor (local.get $acc) (i64.shr_u (local.get $acc) (i64.const 47))))
      (local.set $acc (i64.xor (local.get $acc) (i64.load (i32.add (local.get $secret) (i32.shl (local.get $i) (i32.const 3))))))
      (i64.store (local.get $at) (i64.mul (local.get $acc) (i64.const 0x9e3779b1)))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $lane (i32.lt_u (local.get $i) (i32.const 8)))))

  (func $derive_secret (param $seed i64)
    (local $at i32)
    (loop $next
      (i64.store offset=192 (local.get $at) (i64.add (i64.load (local.get $at)) (local.get $seed)))
      (i64.store offset=200 (local.get $at) (i64.sub (i64.load offset=8 (local.get $at)) (local.get $seed)))
      (local.set $at (i32.add (local.get $at) (i32.const 16)))
      (br_if $next (i32.lt_u (local.get $at) (i32.const 192)))))

  (func $init_accumulators
    (i64.store (i32.const 384) (i64.const 0xc2b2ae3d))
    (i64.store (i32.const 392) (i64.const 0x9e3779b185ebca87))
    (i64.store (i32.const 400) (i64.const 0xc2b2ae3d27d4eb4f))
    (i64.store (i32.const 408) (i64.const 0x165667b19e3779f9))
    (i64.store (i32.const 416) (i64.const 0x85ebca77c2b2ae63))
    (i64.store (i32.const 424) (i64.const 0x85ebca77))
    (i64.store (i32.const 432) (i64.const 0x27d4eb2f165667c5))
    (i64.store (i32.const 440) (i64.const 0x9e3779b1)))

  ;; 16 stripes a block with the secret moving on by 8 bytes; the last stripe has a place of its own.
  (func $hash_long (param $p i32) (param $len i32) (param $seed i64) (result i64)
    (local $stripe i32) (local $stripes i32) (local $in_block i32) (local $acc i64) (local $i i32)
    (call $derive_secret (local.get $seed))
    (call $init_accumulators)
    (local.set $stripes (i32.shr_u (i32.sub (local.get $len) (i32.const 1)) (i32.const 6)))
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $stripe) (local.get $stripes)))
        (call $accumulate
          (i32.add (local.get $p) (i32.shl (local.get $stripe) (i32.const 6)))
          (i32.add (i32.const 192) (i32.shl (local.get $in_block) (i32.const 3))))
        (local.set $stripe (i32.add (local.get $stripe) (i32.const 1)))
        (local.set $in_block (i32.add (local.get $in_block) (i32.const 1)))
        (if (i32.eq (local.get $in_block) (i32.const 16))
          (then
            (local.set $in_block (i32.const 0))
            (call $scramble (i32.const 320))))
        (br $next)))
    (call $accumulate (i32.sub (i32.add (local.get $p) (local.get $len)) (i32.const 64)) (i32.const 313))
    (local.set $acc (i64.mul (i64.extend_i32_u (local.get $len)) (i64.const 0x9e3779b185ebca87)))
    (loop $merge
      (local.set $acc
        (i64.add
          (local.get $acc)
          (call $fold
            (i64.xor
              (i64.load offset=384 (local.get $i))
              (i64.load offset=203 (local.get $i)))
            (i64.xor
              (i64.load offset=392 (local.get $i))
              (i64.load offset=211 (local.get $i))))))
      (local.set $i (i32.add (local.get $i) (i32.const 16)))
      (br_if $merge (i32.lt_u (local.get $i) (i32.const 64))))
    (call $avalanche (local.get $acc)))

  ;; XXH3-64 of `len` bytes at `p`.
  (func $hash (export "hash") (param $p i32) (param $len i32) (param $seed i64) (result i64)
    (if (i32.gt_u (local.get $len) (i32.const 240)) (then (return (call $hash_long (local.get $p) (local.get $len) (local.get $seed)))))
    (if (i32.gt_u (local.get $len) (i32.const 128)) (then (return (call $hash_129_240 (local.get $p) (local.get $len) (local.get $seed)))))
    (if (i32.gt_u (local.get $len) (i32.const 16)) (then (return (call $hash_17_128 (local.get $p) (local.get $len) (local.get $seed)))))
    (if (i32.gt_u (local.get $len) (i32.const 8)) (then (return (call $hash_9_16 (local.get $p) (local.get $len) (local.get $seed)))))
    (if (i32.gt_u (local.get $len) (i32.const 3)) (then (return (call $hash_4_8 (local.get $p) (local.get $len) (local.get $seed)))))
    (if (local.get $len) (then (return (call $hash_1_3 (local.get $p) (local.get $len) (local.get $seed)))))
    (call $avalanche_xxh64
      (i64.xor (local.get $seed) (i64.xor (i64.load (i32.const 56)) (i64.load (i32.const 64))))))

  ;; (h >> 12 + 0.5) * 2^-52: the middle of one of 2^52 equal steps, so never 0 nor 1.
  (func $unit (param $h i64) (result f64)
    (f64.mul
      (f64.add (f64.convert_i64_s (i64.shr_u (local.get $h) (i64.const 12))) (f64.const 0.5))
      (f64.const 0x1p-52)))

  ;; Natural logarithm of a positive normal number, from + - * / alone, so that every machine gets the same bits:
  ;; x = m * 2^e with m in [0.75, 1.5), s = (m - 1) / (m + 1), ln m = 2 (s + s^3/3 + s^5/5 + ...).
  (func $ln (export "ln") (param $x f64) (result f64)
    (local $bits i64) (local $e i64) (local $m f64) (local $s f64) (local $z f64) (local $sum f64)
    (local.set $bits (i64.reinterpret_f64 (local.get $x)))
    (local.set $e (i64.sub (i64.shr_u (local.get $bits) (i64.const 52)) (i64.const 1023)))
    (local.set $m
      (f64.reinterpret_i64
        (i64.or (i64.and (local.get $bits) (i64.const 0xfffffffffffff)) (i64.const 0x3ff0000000000000))))
    (if (f64.ge (local.get $m) (f64.const 1.5))
      (then
        (local.set $m (f64.mul (local.get $m) (f64.const 0.5)))
        (local.set $e (i64.add (local.get $e) (i64.const 1)))))
    (local.set $s (f64.div (f64.sub (local.get $m) (f64.const 1)) (f64.add (local.get $m) (f64.const 1))))
    (local.set $z (f64.mul (local.get $s) (local.get $s)))
    (local.set $sum (f64.const 0x1.2f684bda12f68p-5))
    (local.set $sum (f64.add (f64.const 0x1.47ae147ae147bp-5) (f64.mul (local.get $z) (local.get $sum))))
    (local.set $sum (f64.add (f64.const 0x1.642c8590b2164p-5) (f64.mul (local.get $z) (local.get $sum))))
    (local.set $sum (f64.add (f64.const 0x1.8618618618618p-5) (f64.mul (local.get $z) (local.get $sum))))
    (local.set $sum (f64.add (f64.const 0x1.af286bca1af28p-5) (f64.mul (local.get $z) (local.get $sum))))
    (local.set $sum (f64.add (f64.const 0x1.e1e1e1e1e1e1ep-5) (f64.mul (local.get $z) (local.get $sum))))
    (local.set $sum (f64.add (f64.const 0x1.1111111111111p-4) (f64.mul (local.get $z) (local.get $sum))))
    (local.set $sum (f64.add (f64.const 0x1.3b13b13b13b14p-4) (f64.mul (local.get $z) (local.get $sum))))
    (local.set $sum (f64.add (f64.const 0x1.745d1745d1746p-4) (f64.mul (local.get $z) (local.get $sum))))
    (local.set $sum (f64.add (f64.const 0x1.c71c71c71c71cp-4) (f64.mul (local.get $z) (local.get $sum))))
    (local.set $sum (f64.add (f64.const 0x1.2492492492492p-3) (f64.mul (local.get $z) (local.get $sum))))
    (local.set $sum (f64.add (f64.const 0x1.999999999999ap-3) (f64.mul (local.get $z) (local.get $sum))))
    (local.set $sum (f64.add (f64.const 0x1.5555555555555p-2) (f64.mul (local.get $z) (local.get $sum))))
    (local.set $sum (f64.add (f64.const 1) (f64.mul (local.get $z) (local.get $sum))))
    (f64.add
      (f64.mul (f64.convert_i64_s (local.get $e)) (f64.const 0x1.62e42fefa39efp-1))
      (f64.mul (f64.mul (f64.const 2) (local.get $s)) (local.get $sum))))

  ;; Score of one (repository, site) pair: XXH3-64 of the two hashes as 16 bytes.
  (func $pair (export "pair") (param $repository i64) (param $site i64) (param $seed i64) (result i64)
    (local $low i64) (local $high i64)
    (local.set $low (i64.xor (local.get $repository) (call $flip_low (local.get $seed))))
    (local.set $high (i64.xor (local.get $site) (call $flip_high (local.get $seed))))
    (call $avalanche
      (i64.add
        (i64.add (i64.const 16) (call $swap64 (local.get $low)))
        (i64.add (local.get $high) (call $fold (local.get $low) (local.get $high))))))

  ;; -ln(u) / weight of one pair.
  (func (export "cost") (param $repository i64) (param $site i64) (param $seed i64) (param $weight f64) (result f64)
    (f64.div
      (f64.neg (call $ln (call $unit (call $pair (local.get $repository) (local.get $site) (local.get $seed)))))
      (local.get $weight)))

  ;; The k cheapest of `count` sites for the key of `len` bytes at `key`: their indices, i32 each, at `top`, cheapest first.
  ;; A site is 16 bytes at `sites`: its hash, then its weight; equal costs go to the smaller index. `costs` is scratch, f64 x k.
  (func (export "owners") (param $key i32) (param $len i32) (param $seed i64) (param $sites i32) (param $count i32)
                          (param $top i32) (param $costs i32) (param $k i32)
    (local $low i64) (local $base i64) (local $flip i64) (local $high i64) (local $end i32) (local $site i32)
    (local $al i64) (local $ah i64) (local $bl i64) (local $bh i64) (local $ll i64) (local $hl i64) (local $cross i64) (local $h i64)
    (local $u f64) (local $weight f64) (local $cost f64) (local $worst f64) (local $filled i32) (local $at i32)
    (local.set $low (i64.xor (call $hash (local.get $key) (local.get $len) (local.get $seed)) (call $flip_low (local.get $seed))))
    (local.set $al (i64.and (local.get $low) (i64.const 0xffffffff)))
    (local.set $ah (i64.shr_u (local.get $low) (i64.const 32)))
    (local.set $base (i64.add (i64.const 16) (call $swap64 (local.get $low))))
    (local.set $flip (call $flip_high (local.get $seed)))
    ;; NaN until the list is full: nothing is below it, so the first k sites enter whatever they cost, infinity included.
    (local.set $worst (f64.const nan))
    (local.set $site (local.get $sites))
    (local.set $end (i32.add (local.get $sites) (i32.shl (local.get $count) (i32.const 4))))
    (block $done
      (br_if $done (i32.eqz (local.get $count)))
      (loop $next
        ;; $pair again, written out: a call costs as much as the work, and the halves of $low do not change.
        (local.set $high (i64.xor (i64.load (local.get $site)) (local.get $flip)))
        (local.set $bl (i64.and (local.get $high) (i64.const 0xffffffff)))
        (local.set $bh (i64.shr_u (local.get $high) (i64.const 32)))
        (local.set $ll (i64.mul (local.get $al) (local.get $bl)))
        (local.set $hl (i64.mul (local.get $ah) (local.get $bl)))
        (local.set $cross
          (i64.add
            (i64.add (i64.shr_u (local.get $ll) (i64.const 32)) (i64.and (local.get $hl) (i64.const 0xffffffff)))
            (i64.mul (local.get $al) (local.get $bh))))
        (local.set $h
          (i64.add
            (i64.add (local.get $base) (local.get $high))
            (i64.xor
              (i64.or (i64.shl (local.get $cross) (i64.const 32)) (i64.and (local.get $ll) (i64.const 0xffffffff)))
              (i64.add
                (i64.add (i64.shr_u (local.get $hl) (i64.const 32)) (i64.shr_u (local.get $cross) (i64.const 32)))
                (i64.mul (local.get $ah) (local.get $bh))))))
        (local.set $h (i64.mul (i64.xor (local.get $h) (i64.shr_u (local.get $h) (i64.const 37))) (i64.const 0x165667919e3779f9)))
        (local.set $h (i64.xor (local.get $h) (i64.shr_u (local.get $h) (i64.const 32))))
        (local.set $weight (f64.load offset=8 (local.get $site)))
        (block $skip
          ;; -ln u >= 1 - u, so most sites need no logarithm. The bits of h >> 12 below the exponent of 1 are 1 + u less half a step,
          ;; and 2 is taken a step too small, so that the difference is never above 1 - u; the factor covers the rounding after it.
          (br_if $skip
            (f64.ge
              (f64.mul
                (f64.sub
                  (f64.const 0x1.fffffffffffffp0)
                  (f64.reinterpret_i64 (i64.or (i64.shr_u (local.get $h) (i64.const 12)) (i64.const 0x3ff0000000000000))))
                (f64.const 0x1.ffffffp-1))
              (f64.mul (local.get $worst) (local.get $weight))))
          (local.set $u (call $unit (local.get $h)))
          (local.set $cost (f64.div (f64.neg (call $ln (local.get $u))) (local.get $weight)))
          (br_if $skip (f64.ge (local.get $cost) (local.get $worst)))
          ;; Insertion into the sorted list of the best so far; the last one falls out of a full list.
          (if (i32.lt_u (local.get $filled) (local.get $k))
            (then (local.set $filled (i32.add (local.get $filled) (i32.const 1)))))
          (local.set $at (i32.sub (local.get $filled) (i32.const 1)))
          (block $placed
            (loop $shift
              (br_if $placed (i32.eqz (local.get $at)))
              (br_if $placed
                (f64.le
                  (f64.load (i32.add (local.get $costs) (i32.shl (i32.sub (local.get $at) (i32.const 1)) (i32.const 3))))
                  (local.get $cost)))
              (f64.store
                (i32.add (local.get $costs) (i32.shl (local.get $at) (i32.const 3)))
                (f64.load (i32.add (local.get $costs) (i32.shl (i32.sub (local.get $at) (i32.const 1)) (i32.const 3)))))
              (i32.store
                (i32.add (local.get $top) (i32.shl (local.get $at) (i32.const 2)))
                (i32.load (i32.add (local.get $top) (i32.shl (i32.sub (local.get $at) (i32.const 1)) (i32.const 2)))))
              (local.set $at (i32.sub (local.get $at) (i32.const 1)))
              (br $shift)))
          (f64.store (i32.add (local.get $costs) (i32.shl (local.get $at) (i32.const 3))) (local.get $cost))
          (i32.store (i32.add (local.get $top) (i32.shl (local.get $at) (i32.const 2)))
            (i32.shr_u (i32.sub (local.get $site) (local.get $sites)) (i32.const 4)))
          (if (i32.eq (local.get $filled) (local.get $k))
            (then
              (local.set $worst
                (f64.load (i32.add (local.get $costs) (i32.shl (i32.sub (local.get $k) (i32.const 1)) (i32.const 3))))))))
        (local.set $site (i32.add (local.get $site) (i32.const 16)))
        (br_if $next (i32.lt_u (local.get $site) (local.get $end)))))))
