package escaped

import (
	"fmt"
	"strings"
)

const (
	zero = 0xff // after a zero byte: the zero byte itself
	end  = 0x01 // after a zero byte: the end
)

// Append appends what b is written as.
func Append(dst, b []byte) []byte {
	for _, c := range b {
		if dst = append(dst, c); c == 0 {
			dst = append(dst, zero)
		}
	}
	return append(dst, 0, end)
}

// Cut returns what s begins with the writing of, and how many bytes that takes. It is a part of s, or a copy if zero
// bytes are in it. The error says what is wrong if s does not begin so.
func Cut(s string) (b string, n int, err error) {
	var zeros strings.Builder // what stands up to the last zero byte
	from := 0
	for {
		i := strings.IndexByte(s[from:], 0)
		if i < 0 || from+i+1 == len(s) {
			return "", 0, fmt.Errorf("a key without an end: %q", s)
		}
		at := from + i
		switch s[at+1] {
		case end:
			if zeros.Len() == 0 {
				return s[:at], at + 2, nil
			}
			zeros.WriteString(s[from:at])
			return zeros.String(), at + 2, nil
		case zero:
			zeros.WriteString(s[from : at+1])
			from = at + 2
		default:
			return "", 0, fmt.Errorf("a key with %q in it", s[at:at+2])
		}
	}
}
