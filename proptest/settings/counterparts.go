package settings

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"
)

// table is one of those beside the code that say what stands here for each setting of Pekko.
type table struct {
	dir     string // the table is in the page on its design
	heading string
	short   string // begins what the table writes shorter
	long    string // what that stands for
	of      string // the group of a name without a package
}

var tables = []table{
	{"ddata", "# Settings of the reference: the cluster\n", "T.",
		"ddata.Config.Timing.", "ddata.Config."},
	{"ddata", "# Settings of the reference: data\n", "R.",
		"ddata.Config.Replication.", "ddata.Config."},
	{"sharding", "# Settings\n", "EntityType.", "sharding.EntityType.", "sharding."},
}

// Counterparts returns the settings of Pekko and Akka by the settings that stand for them here.
func Counterparts(root fs.FS) (map[string][]string, error) {
	out := map[string][]string{}
	for _, t := range tables {
		rows, err := t.rows(root)
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			for _, name := range t.names(r[1]) {
				out[name] = append(out[name], r[0])
			}
		}
	}
	return out, nil
}

var (
	columns = regexp.MustCompile(` {2,}`)
	setting = regexp.MustCompile(`^[A-Za-z]+(?:\.[A-Z][A-Za-z]*)*$`)
	section = regexp.MustCompile(`(?m)^#+ `)
)

// rows returns the rows of the table: a setting of Pekko, and what stands for it.
func (t table) rows(root fs.FS) (out [][2]string, err error) {
	text, err := fs.ReadFile(root, path.Join(t.dir, "design.md"))
	if err != nil {
		return nil, err
	}
	_, after, _ := strings.Cut(string(text), t.heading)
	if end := section.FindStringIndex(after); end != nil {
		after = after[:end[0]]
	}
	for line := range strings.Lines(after) {
		row := columns.Split(strings.TrimSpace(line), 3)
		if len(row) > 1 && row[0] != "" && !strings.HasPrefix(row[0], "(") {
			left, under := strings.CutPrefix(row[0], "...")
			if under {
				left = "split-brain-resolver." + left
			}
			out = append(out, [2]string{left, row[1]})
		}
	}
	if len(out) < 10 {
		return nil, fmt.Errorf("no table below %q in the page on the design of %s", strings.TrimSpace(t.heading), t.dir)
	}
	return out, nil
}

// names returns the full names of the settings in a cell of the table. A name without a package belongs to the
// struct of the one before it.
func (t table) names(cell string) (out []string) {
	within := t.of
	for _, n := range strings.Split(cell, ", ") {
		n = strings.ReplaceAll(n, "[NAME]", "")
		if !setting.MatchString(n) {
			continue
		}
		rest, short := strings.CutPrefix(n, t.short)
		switch {
		case short:
			n = t.long + rest
		case strings.Contains(n, ".") && n[0] >= 'a':
			within = n[:strings.LastIndex(n, ".")+1]
		case strings.HasPrefix(n, "SingletonConfig."):
			n = "ddata." + n
			within = "ddata.SingletonConfig."
		default:
			n = within + n
		}
		out = append(out, n)
	}
	return out
}
