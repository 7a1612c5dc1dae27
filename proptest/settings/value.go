package settings

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"time"
)

// shown returns a number, duration, bool or text as a comment writes it, and "" of anything else and
// of zero. Bytes have a unit.
func shown(v reflect.Value, bytes bool) string {
	if !v.IsValid() || v.IsZero() {
		return ""
	}
	name, named := v.Interface().(fmt.Stringer)
	switch {
	case v.Type() == reflect.TypeFor[time.Duration]():
		return duration(time.Duration(v.Int()))
	case named && (v.CanInt() || v.CanUint()):
		return name.String()
	case v.CanInt():
		return number(v.Int(), bytes)
	case v.CanUint():
		return number(int64(v.Uint()), bytes)
	case v.CanFloat():
		return strconv.FormatFloat(v.Float(), 'g', -1, 64)
	case v.Kind() == reflect.Bool:
		return strconv.FormatBool(v.Bool())
	case v.Kind() == reflect.String:
		return v.String()
	}
	return ""
}

// duration writes a time in the largest unit that needs no more than two decimals, and what would need
// more about so.
func duration(d time.Duration) string {
	for _, u := range []struct {
		of   time.Duration
		name string
	}{{time.Minute, "min"}, {time.Second, "s"}, {time.Millisecond, "ms"}, {time.Microsecond, "µs"}} {
		if n := float64(d) / float64(u.of); math.Abs(n) >= 1 && n*100 == math.Trunc(n*100) {
			if u.of == time.Minute && n != math.Trunc(n) {
				continue
			}
			return strconv.FormatFloat(n, 'f', -1, 64) + " " + u.name
		}
	}
	if d >= time.Second {
		return fmt.Sprintf("about %.3g s", d.Seconds())
	}
	return strconv.FormatInt(int64(d), 10) + " ns"
}

// number writes an integer with commas, or round ones of bytes with a unit.
func number(n int64, bytes bool) string {
	for _, u := range []struct {
		bits int
		name string
	}{{40, "TiB"}, {30, "GiB"}, {20, "MiB"}, {10, "KiB"}} {
		if bytes && n != 0 && n%(1<<u.bits) == 0 {
			return strconv.FormatInt(n>>u.bits, 10) + " " + u.name
		}
	}
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// limits asks a group what it takes for a number: the least and the greatest value with which it is
// valid, all else at its default. ok is false if the field is no number, or the group cannot be asked.
func (g Group) limits(zero reflect.Value, field string, bytes bool) (low, high string, ok bool) {
	f := zero.FieldByName(field)
	if g.validate == nil || !f.IsValid() || !counts(f) || g.validate(zero.Interface()) != nil {
		return "", "", false
	}
	takes := func(n float64) bool {
		v := reflect.New(zero.Type()).Elem()
		v.Set(zero)
		switch f := v.FieldByName(field); {
		case f.CanFloat():
			f.SetFloat(n)
		case n > math.MaxInt64/2 || f.CanInt() && f.OverflowInt(int64(n)) || f.CanUint() && (n < 0 ||
			f.OverflowUint(uint64(n))):
			return true // the type, and not the group, bounds it
		case f.CanInt():
			f.SetInt(int64(n))
		default:
			f.SetUint(uint64(n))
		}
		return g.validate(v.Interface()) == nil
	}
	show := func(n float64) string {
		v := reflect.New(f.Type()).Elem()
		if f.CanFloat() {
			return strconv.FormatFloat(n, 'g', -1, 64)
		}
		if f.CanUint() {
			v.SetUint(uint64(n))
		} else {
			v.SetInt(int64(n))
		}
		return shown(v, bytes)
	}
	// The first power of two that is taken, and the first above it that is not.
	from, to := math.Inf(1), math.Inf(1)
	first, last := 0, 62
	if f.CanFloat() {
		first, last = -20, 40
	}
	for e := first; e <= last; e++ {
		switch n := math.Ldexp(1, e); {
		case math.IsInf(from, 1) && takes(n):
			from = n
		case !math.IsInf(from, 1) && !takes(n):
			to = n
			e = last
		}
	}
	if math.IsInf(from, 1) {
		return "", "", false
	}
	exact := !f.CanFloat()
	if !math.IsInf(to, 1) {
		high = show(edge(takes, to/2, to, exact))
	}
	if from > math.Ldexp(1, first) {
		low = show(edge(takes, from, from/2, exact))
	}
	return low, high, true
}

// counts reports whether a field is a number or a time, and no name of something.
func counts(f reflect.Value) bool {
	if f.Type().PkgPath() != "" && f.Type() != reflect.TypeFor[time.Duration]() {
		return false
	}
	return f.CanInt() || f.CanUint() || f.CanFloat()
}

// edge finds the value next to bad that is taken, between one that is and one that is not.
func edge(takes func(float64) bool, good, bad float64, whole bool) float64 {
	for range 64 {
		mid := (good + bad) / 2
		if whole {
			mid = math.Trunc(mid)
		}
		if mid == good || mid == bad {
			break
		}
		if takes(mid) {
			good = mid
		} else {
			bad = mid
		}
	}
	if whole {
		return good
	}
	return math.Round(good*1e6) / 1e6
}
