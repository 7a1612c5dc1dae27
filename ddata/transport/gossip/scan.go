package gossip

import (
	"encoding/binary"
	"io"
	"slices"
	"sync/atomic"
)

// screen reads bytes one after the other and keeps them. It never has room for more than twice what
// has come, and a little.
type screen struct {
	b    []byte
	at   int           // so many were looked at
	from io.Reader     // where more comes from; nil for a packet
	held *atomic.Int64 // bytes that all screens of streams have room for
	mine int64         // of those, this one's
}

// next are the next n bytes.
func (s *screen) next(n int) ([]byte, error) {
	for len(s.b)-s.at < n {
		if err := s.more(); err != nil {
			return nil, err
		}
	}
	s.at += n
	return s.b[s.at-n : s.at], nil
}

// more waits for more of a stream.
func (s *screen) more() error {
	if s.from == nil {
		return screened(RefusedForm, "cut off after %d bytes", len(s.b))
	}
	if len(s.b) == cap(s.b) {
		if len(s.b) >= syncMax {
			return screened(RefusedSize, "a sync of more than %d bytes", syncMax)
		}
		s.b = slices.Grow(s.b, max(512, len(s.b)))
		room := int64(cap(s.b))
		all := s.held.Add(room - s.mine)
		s.mine = room
		if all > heldMax {
			return screened(RefusedCrowd, "%d bytes are being read", all)
		}
	}
	n, err := s.from.Read(s.b[len(s.b):cap(s.b)])
	s.b = s.b[:len(s.b)+n]
	if n > 0 {
		return nil
	}
	if err == nil {
		err = io.ErrNoProgress
	}
	return err
}

// free gives back the room.
func (s *screen) free() {
	if s.held != nil {
		s.held.Add(-s.mine)
	}
	s.b, s.mine = nil, 0
}

var (
	syncFields  = []string{"Nodes", "UserStateLen", "Join"}
	nodeFields  = []string{"Name", "Addr", "Port", "Meta", "Incarnation", "State", "Vsn"}
	errorFields = []string{"Error"}
)

// record reads a map that has exactly these keys, each once: what comes twice, memberlist takes the
// second time.
func (s *screen) record(keys []string, each func(key string, number uint64)) error {
	var seen uint
	err := s.fields(func(key string, number uint64) error {
		i := slices.Index(keys, key)
		if i < 0 || seen&(1<<i) != 0 {
			return screened(RefusedForm, "the key %q, with %v expected", key, keys)
		}
		seen |= 1 << i
		if each != nil {
			each(key, number)
		}
		return nil
	})
	if err == nil && seen != 1<<len(keys)-1 {
		err = screened(RefusedForm, "a map without all of %v", keys)
	}
	return err
}

// fields reads a map.
func (s *screen) fields(each func(key string, number uint64) error) error {
	head, err := s.next(1)
	if err != nil {
		return err
	}
	if head[0]&0xf0 != 0x80 { // up to pairsMax
		return screened(RefusedForm, "%#x, not a small map", head[0])
	}
	for range head[0] & pairsMax {
		key, isString, _, err := s.scalar()
		if err != nil {
			return err
		}
		if !isString {
			return screened(RefusedForm, "a key that is no string")
		}
		name := string(key)
		_, _, number, err := s.scalar()
		if err != nil {
			return err
		}
		if err := each(name, number); err != nil {
			return err
		}
	}
	return nil
}

// scalar reads nil, a boolean, an integer or a string. A negative number, of which there are none,
// is a very large one.
func (s *screen) scalar() (text []byte, isString bool, number uint64, err error) {
	head, err := s.next(1)
	if err != nil {
		return nil, false, 0, err
	}
	size := -1 // of a string
	switch t := head[0]; {
	case t <= 0x7f:
		return nil, false, uint64(t), nil
	case t >= 0xe0:
		return nil, false, uint64(int64(int8(t))), nil
	case t == 0xc0 || t == 0xc2 || t == 0xc3:
		return nil, false, 0, nil
	case t >= 0xa0 && t <= 0xbf:
		size = int(t & 0x1f)
	case t >= 0xcc && t <= 0xcf:
		number, err = s.bigEndian(1 << (t - 0xcc))
	case t >= 0xd0 && t <= 0xd3:
		width := 1 << (t - 0xd0)
		number, err = s.bigEndian(width)
		number = uint64(int64(number<<(64-8*width)) >> (64 - 8*width))
	case t == 0xd9 || t == 0xc4:
		number, err = s.bigEndian(1)
		size = int(number)
	case t == 0xda || t == 0xc5:
		number, err = s.bigEndian(2)
		size = int(number)
	default:
		return nil, false, 0, screened(RefusedForm, "a value of type %#x", t)
	}
	switch {
	case err != nil || size < 0:
		return nil, false, number, err
	case size > scalarMax:
		return nil, false, 0, screened(RefusedSize, "a string of %d bytes", size)
	}
	text, err = s.next(size)
	return text, true, 0, err
}

// bigEndian reads an integer of 1, 2, 4 or 8 bytes.
func (s *screen) bigEndian(width int) (uint64, error) {
	b, err := s.next(width)
	if err != nil {
		return 0, err
	}
	switch width {
	case 1:
		return uint64(b[0]), nil
	case 2:
		return uint64(binary.BigEndian.Uint16(b)), nil
	case 4:
		return uint64(binary.BigEndian.Uint32(b)), nil
	}
	return binary.BigEndian.Uint64(b), nil
}
