package main

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"github.com/coterie-go/coterie/bench/results"
)

// peers is what make peers has printed.
type peers struct {
	origin []string // of the runs: when, of what commit
	rows   []peerRow
}

// peerRow is the row of a work and a peer. Figures that are missing are empty.
type peerRow struct {
	work, peer, figure                                         string
	coterie, other, limit, ratioPeer, ratioLimit, peerOfLimits string
	words                                                      string
}

// wordsMark stands before what a row says in words, which ends it.
const wordsMark = " words="

// readPeers reads the rows of a file. A missing file has none.
func readPeers(name string) (p peers, err error) {
	file, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	if err != nil {
		return p, err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		if origin, ok := strings.CutPrefix(lines.Text(), "# "); ok {
			p.origin = append(p.origin, origin)
		} else if r, ok := peerRowOf(lines.Text()); ok {
			p.rows = append(p.rows, r)
		}
	}
	return p, lines.Err()
}

// peerRowOf takes a line apart. It reports false of one that is no row.
func peerRowOf(text string) (r peerRow, ok bool) {
	figures, quoted, _ := strings.Cut(text, wordsMark)
	l, ok := results.Parse(figures)
	if !ok || l.Bench != "peers" {
		return r, false
	}
	r.work, r.peer, _ = strings.Cut(l.Case, "/")
	r.words, _ = strconv.Unquote(quoted)
	for _, v := range l.Figures {
		switch name := v.Name; {
		case name == "ratio_peer":
			r.ratioPeer = ratio(v.Value)
		case name == "ratio_limit":
			r.ratioLimit = ratio(v.Value)
		case name == "peer_ratio_limit":
			r.peerOfLimits = ratio(v.Value)
		default:
			r.add(name, v.Value)
		}
	}
	return r, true
}

// add takes the figure that is compared, which comes first, and those beside it.
func (r *peerRow) add(name string, value float64) {
	of, figure, _ := strings.Cut(name, "_")
	to, ok := map[string]*string{"coterie": &r.coterie, "peer": &r.other, "limit": &r.limit}[of]
	switch {
	case !ok:
	case r.figure == "" || r.figure == figure:
		r.figure, *to = figure, number(value)
	default:
		r.words = strings.TrimPrefix(r.words+"; "+name+" "+number(value), "; ")
	}
}

// ratio is a number of which three digits count.
func ratio(v float64) string { return strconv.FormatFloat(v, 'g', 3, 64) }

// write writes the section of the page.
func (p peers) write(b *strings.Builder) {
	if len(p.rows) == 0 {
		return
	}
	b.WriteString("\n## Peers\n\nMade by `make peers`; bench/peers/doc.go says what each work is, and " +
		"bench/peers/design.md what is not fair to the peers and to Coterie. A ratio above 1 says that the first " +
		"named does better, of rates and of costs alike. The raw limit writes each message by itself: what sends " +
		"many together may pass it. ")
	for _, o := range p.origin {
		fmt.Fprintf(b, "%s. ", o)
	}
	b.WriteString("\n\n")
	rows(b, "work", "peer", "figure", "Coterie", "the peer", "raw limit", "Coterie / peer", "Coterie / limit",
		"peer / limit", "beside")
	for _, r := range p.rows {
		row(b, r.work, r.peer, r.figure, r.coterie, r.other, r.limit, r.ratioPeer, r.ratioLimit, r.peerOfLimits,
			r.words)
	}
}
