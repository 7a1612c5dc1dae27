package replicated

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// place is where something stands among what counts in a shard. Places are ordered as the things
// were written. What is settled later has a higher place.
type place struct {
	number uint64 // of the seat in its chain
	seq    uint64 // of the dot
}

func (p place) compare(o place) int {
	return cmp.Or(cmp.Compare(p.number, o.number), cmp.Compare(p.seq, o.seq))
}

// offset is a place in each shard of a type. As text it is 1 and, for each shard that has one,
// .SHARD-NUMBER-SEQ, in the order of the shards, with numbers of base 36.
type offset []offsetOf

type offsetOf struct {
	shard protocol.ShardID
	at    place
	text  string
}

const (
	offsetFormat = "1"
	offsetBase   = 36
)

func (e *offsetOf) move(to place) {
	e.at = to
	b := strconv.AppendUint(make([]byte, 0, 24), uint64(e.shard), offsetBase)
	b = strconv.AppendUint(append(b, '-'), to.number, offsetBase)
	e.text = "." + string(strconv.AppendUint(append(b, '-'), to.seq, offsetBase))
}

// of returns the place of a shard, which is made if there is none.
func (o *offset) of(shard protocol.ShardID) int {
	i, found := slices.BinarySearchFunc(*o, shard, func(e offsetOf, s protocol.ShardID) int {
		return cmp.Compare(e.shard, s)
	})
	if !found {
		*o = slices.Insert(*o, i, offsetOf{shard: shard})
	}
	return i
}

// around returns the text before and after that of one shard.
func (o offset) around(i int) (before, after string) {
	var b strings.Builder
	b.WriteString(offsetFormat)
	for _, e := range o[:i] {
		b.WriteString(e.text)
	}
	cut := b.Len()
	for _, e := range o[i+1:] {
		b.WriteString(e.text)
	}
	return b.String()[:cut], b.String()[cut:]
}

// parseOffset reads the text of an offset. It makes no more than that has.
func parseOffset(text persistence.Offset) (o offset, err error) {
	if text == "" {
		return nil, nil
	}
	head, rest, more := strings.Cut(string(text), ".")
	fault := fmt.Errorf("replicated: %.40q is no offset of this store", string(text))
	if head != offsetFormat {
		return nil, fault
	}
	for last := int64(-1); more; {
		var one string
		one, rest, more = strings.Cut(rest, ".")
		e, ok := parsePlace(one)
		if !ok || int64(e.shard) <= last {
			return nil, fault
		}
		o, last = append(o, e), int64(e.shard)
	}
	return o, nil
}

func parsePlace(text string) (e offsetOf, ok bool) {
	shard, rest, _ := strings.Cut(text, "-")
	number, seq, _ := strings.Cut(rest, "-")
	s, err1 := strconv.ParseUint(shard, offsetBase, 32)
	n, err2 := strconv.ParseUint(number, offsetBase, 64)
	q, err3 := strconv.ParseUint(seq, offsetBase, 64)
	e.shard = protocol.ShardID(s)
	e.move(place{n, q})
	return e, err1 == nil && err2 == nil && err3 == nil && e.text == "."+text
}
