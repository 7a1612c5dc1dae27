package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/coterie-go/coterie/bench/measure"
	"github.com/coterie-go/coterie/bench/results"
)

// work is one thing that Coterie and its peers do, and one row for each peer.
type work struct {
	name string
	// peer is the case that a peer's program prints.
	peer string
	// coterie is the line of go run ./bench with Coterie's figures, as bench/case.
	coterie string
	// figure is the one that is compared. own is its name in Coterie's line, if that differs.
	figure, own string
	// limit is the name of the raw limit in Coterie's line. Empty: raw measures it, or there is none.
	limit string
	// raw is the case of the raw program that is the limit, which has the figure by the same name.
	raw string
	// cost says that less is better, as of times and bytes.
	cost bool
	// more are figures that are printed beside, without ratios: their names in the peer's and in Coterie's line.
	more []string
	// words is a remark on the row.
	words string
}

// found are the figures of a line by their names.
type found map[string]float64

// lineOf takes the figures of a case out of what was printed.
func lineOf(f results.File, bench, name string) found {
	i := slices.IndexFunc(f.Cases, func(c results.Case) bool { return c.Bench == bench && c.Case == name })
	if i < 0 {
		return nil
	}
	all := found{}
	for _, x := range f.Cases[i].Figures {
		all[x.Name] = x.Median()
	}
	return all
}

// row is what a run has found of one work, of Coterie and of one peer. A nil map is what was not measured.
type row struct {
	work
	by                   string // the peer
	coterie, peer, limit found
	words                string // why something is missing, or a remark
}

// rowWords stands before the words of a row, which end the line.
const rowWords = " words="

// String is the line of the row. A ratio above 1 says that Coterie does better, of a rate as of a cost.
func (r row) String() string {
	var f measure.Figures
	own := cmp.Or(r.own, r.figure)
	coterie, hasOwn := r.coterie[own]
	peer, hasPeer := r.peer[r.figure]
	limit, hasLimit := r.limit[cmp.Or(r.work.limit, r.figure)]
	for _, x := range []struct {
		of    string
		value float64
		has   bool
	}{{"coterie", coterie, hasOwn}, {"peer", peer, hasPeer}, {"limit", limit, hasLimit}} {
		if x.has {
			f = append(f, x.of+"_"+r.figure+"="+value(x.value))
		}
	}
	for _, x := range []struct {
		name   string
		beside float64
		has    bool
	}{{"ratio_peer", peer, hasOwn && hasPeer}, {"ratio_limit", limit, hasOwn && hasLimit}} {
		if x.has {
			f = append(f, x.name+"="+digits(r.ratio(coterie, x.beside)))
		}
	}
	if hasPeer && hasLimit {
		f = append(f, "peer_ratio_limit="+digits(r.ratio(peer, limit)))
	}
	for _, name := range r.more {
		if v, ok := r.coterie[name]; ok {
			f = append(f, "coterie_"+name+"="+value(v))
		}
		if v, ok := r.peer[name]; ok {
			f = append(f, "peer_"+name+"="+value(v))
		}
	}
	line := fmt.Sprintf("bench=peers case=%s/%s %s", r.name, r.by, strings.Join(f, " "))
	if words := strings.TrimSpace(r.work.words + " " + r.words); words != "" {
		line = strings.TrimSpace(line) + rowWords + strconv.Quote(words)
	}
	return line
}

// ratio is how many times as well a does as b.
func (r row) ratio(a, b float64) float64 {
	if r.cost {
		a, b = b, a
	}
	if b == 0 {
		return 0
	}
	return a / b
}

// value has two digits behind the point, or three that count.
func value(v float64) string {
	if v > -1 && v < 1 {
		return digits(v)
	}
	return strings.TrimSuffix(strconv.FormatFloat(v, 'f', 2, 64), ".00")
}

// digits are three that count: ratios go from thousandths to thousands.
func digits(v float64) string { return strconv.FormatFloat(v, 'g', 3, 64) }

// faults says what is missing of a row of a peer that has the work, or is no figure.
func (r row) faults() error {
	var all []error
	for _, x := range []struct {
		by, name string
		of       found
	}{{"Coterie", cmp.Or(r.own, r.figure), r.coterie}, {r.by, r.figure, r.peer}} {
		if v, ok := x.of[x.name]; !ok || v <= 0 {
			all = append(all, fmt.Errorf("%s: %s of %s is %v", r.name, x.name, x.by, v))
		}
	}
	if v := r.limit[cmp.Or(r.work.limit, r.figure)]; v <= 0 && (r.work.limit != "" || r.raw != "") {
		all = append(all, fmt.Errorf("%s: the raw limit is %v", r.name, v))
	}
	return errors.Join(all...)
}
