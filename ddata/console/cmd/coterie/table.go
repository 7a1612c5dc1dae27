package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// table prints rows in columns. What comes from a cluster is printed without control characters, so
// that a name cannot steer the terminal.
type table struct{ w *tabwriter.Writer }

func newTable(out io.Writer) *table { return &table{tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)} }

// row prints one row.
func (t *table) row(cells ...any) {
	texts := make([]string, len(cells))
	for i, c := range cells {
		texts[i] = plain(fmt.Sprint(c))
	}
	fmt.Fprintln(t.w, strings.TrimRight(strings.Join(texts, "\t"), "\t"))
}

func (t *table) end() error { return t.w.Flush() }

// plain makes one line of a text, without control characters.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return ' '
		}
		return r
	}, s)
}

// counts prints numbers by name, as a=1 b=2.
func counts(m map[string]uint64) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, fmt.Sprintf("%s=%d", k, m[k]))
	}
	return dash(strings.Join(parts, " "))
}

// dash stands for what is empty.
func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// clock is a time of an event, in the zone of the reader.
func clock(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05.000") }
