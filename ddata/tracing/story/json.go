package story

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"unicode/utf8"
)

// A file of records has one JSON object a line, in the order in which things happened:
//
//	{"t":1500000000,"kind":"sent","node":"n0","inc":"1","peer":"n2","msg":"17","type":"Cart","id":"c1","text":"tell"}
//
// The fields are those of Record, and "kind" is the name of a Kind. Fields with other names are passed over.
// Bytes that are no UTF-8 become U+FFFD.

// Bounds of a line and what is in it, in bytes.
const (
	LineMax = 256 << 10
	TextMax = 8 << 10 // of Record.Text; what is longer is cut
	NameMax = 1 << 10 // of each other field, and of each key; what is longer is cut
	KeysMax = 16      // of a record; those that follow are left out
)

// cutMark ends what was cut.
const cutMark = "…"

// Append appends the line of a record, with its end. A Kind that there is not becomes a Note.
func Append(dst []byte, r Record) []byte {
	if r.Kind >= kinds {
		r.Kind = Note
	}
	for _, name := range []*string{&r.Node, &r.Incarnation, &r.Peer, &r.Message, &r.Type, &r.ID} {
		*name = cut(*name, NameMax)
	}
	r.Text = cut(r.Text, TextMax)
	var keys []string
	for _, key := range r.Keys[:min(len(r.Keys), KeysMax)] {
		keys = append(keys, cut(key, NameMax))
	}
	r.Keys = keys
	line, err := json.Marshal(r)
	if err != nil {
		panic("story: a record has no form: " + err.Error())
	}
	return append(append(dst, line...), '\n')
}

// cut shortens a text to so many bytes, at the end of a character.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	end := most - len(cutMark)
	for end > most-len(cutMark)-utf8.UTFMax && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + cutMark
}

// Write writes records, a line each. Its error is the one of w.
func Write(w io.Writer, records []Record) error {
	out := bufio.NewWriter(w)
	var line []byte
	for _, r := range records {
		line = Append(line[:0], r)
		if _, err := out.Write(line); err != nil {
			return err
		}
	}
	return out.Flush()
}

// Read yields the records of r one by one. An error ends that, and comes alone: the one of r, or one that
// names the line that is no record, is longer than LineMax or has no end. The records before it are good: the
// file of a node that was killed ends within a line.
func Read(r io.Reader) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		lines := bufio.NewReaderSize(r, 4<<10)
		var line []byte
		for number := 1; ; number++ {
			var err error
			line, err = appendLine(line[:0], lines)
			if err == io.EOF && len(line) == 0 {
				return
			}
			record, err := parse(line, err)
			if err != nil {
				yield(Record{}, fmt.Errorf("story: line %d: %w", number, err))
				return
			}
			if !yield(record, nil) {
				return
			}
		}
	}
}

// appendLine appends the next line without its end.
func appendLine(dst []byte, r *bufio.Reader) ([]byte, error) {
	for {
		part, err := r.ReadSlice('\n')
		if dst = append(dst, part...); len(dst) > LineMax {
			return dst, fmt.Errorf("it has more than %d bytes", LineMax)
		}
		if err != bufio.ErrBufferFull {
			return bytes.TrimSuffix(dst, []byte("\n")), err
		}
	}
}

// parse makes a record of a line that was read.
func parse(line []byte, err error) (Record, error) {
	if err == io.EOF {
		return Record{}, io.ErrUnexpectedEOF
	}
	if err != nil {
		return Record{}, err
	}
	var r Record
	if err := json.Unmarshal(line, &r); err != nil {
		return Record{}, err
	}
	return r, nil
}
