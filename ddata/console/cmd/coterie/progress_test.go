package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/durable"
)

// A bar is drawn now and then, and wiped out; what is quick shows none.
func TestBar(t *testing.T) {
	var out bytes.Buffer
	now := time.Unix(1000, 0)
	b := &bar{out: &out, what: "reading", total: 100, clock: func() time.Time { return now }, began: now}
	b.add(10)
	b.end()
	if out.Len() > 0 {
		t.Errorf("quick work shows %q", out.String())
	}
	now = now.Add(barAfter)
	b.add(40)
	b.add(1)
	if got := out.String(); strings.Count(got, "\r") != 1 || !strings.Contains(got, " 50 %") ||
		!strings.Contains(got, "["+strings.Repeat("#", barWidth/2)+" ") {
		t.Errorf("%q", got)
	}
	b.add(1000) // more than was guessed
	now = now.Add(barEvery)
	b.add(1)
	if got := out.String(); !strings.Contains(got, "100 %") {
		t.Errorf("%q", got)
	}
	if b.end(); !strings.HasSuffix(out.String(), "\r") {
		t.Errorf("%q", out.String())
	}
}

// single is a table with one row.
type single struct{ durable.Table }

func (single) Load(fn func(durable.Row) error) error {
	return fn(durable.Row{Key: []byte("k"), Value: []byte("v")})
}

// A table is shown while it is read, and reads as ever; without a terminal it is left alone.
func TestShownTable(t *testing.T) {
	table := single{}
	if bs := (bars{}); bs.reading("x", 1, table) != table {
		t.Error("a table is shown where no terminal is")
	}
	bs, rows := bars{out: &bytes.Buffer{}, on: true}, 0
	err := bs.reading("x", 1, table).Load(func(durable.Row) error { rows++; return nil })
	if err != nil || rows != 1 {
		t.Errorf("%d rows, %v", rows, err)
	}
}

// With -json each line of a data command is an object.
func TestDataJSON(t *testing.T) {
	dir := node(t)
	for _, args := range [][]string{{"inspect", "-json", dir}, {"verify", "-json", dir}, {"remove", "-json", "-n",
		"-type", "Cart", dir},
		{"compact", "-json", dir}} {
		out, _ := runData(t, exitOK, args...)
		for line := range strings.Lines(out) {
			var m map[string]any
			if err := json.Unmarshal([]byte(line), &m); err != nil || len(m) == 0 {
				t.Errorf("%q: %v: %s", args, err, line)
			}
		}
	}
}
