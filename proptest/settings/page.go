package settings

import (
	"fmt"
	"io/fs"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// Row is what the page says of one setting.
type Row struct {
	Field
	Unit    string
	Default string
	Bounds  string
	Meaning string
	Pekko   []string
}

// Rows returns what the page says of a group.
func (g Group) Rows(root fs.FS, pekko map[string][]string) (about string, rows []Row, err error) {
	about, fields, err := read(root, g.Dir, g.Type)
	if err != nil {
		return "", nil, err
	}
	var of reflect.Value
	if g.defaults != nil {
		of = reflect.ValueOf(g.defaults())
	}
	for _, f := range fields {
		if !slices.Contains(g.Hidden, f.Name) {
			rows = append(rows, g.row(f, of, pekko))
		}
	}
	return about, rows, nil
}

func (g Group) row(f Field, of reflect.Value, pekko map[string][]string) Row {
	s := listen(f)
	r := Row{Field: f, Unit: unit(f), Default: s.def, Meaning: s.meaning}
	for _, at := range append(strings.Split(g.Where, ", "), g.Name) {
		for _, name := range pekko[at+"."+f.Name] {
			if !slices.Contains(r.Pekko, name) {
				r.Pekko = append(r.Pekko, name)
			}
		}
	}
	var computed reflect.Value
	if of.IsValid() {
		computed = of.FieldByName(f.Name)
	}
	switch {
	case s.required:
		r.Default = "required"
	case r.Default == "" && shown(computed, r.Unit == "bytes") != "":
		r.Default = shown(computed, r.Unit == "bytes")
	case r.Default == "":
		r.Default = zeroOf(f.Type)
	}
	r.Bounds = strings.Join(s.bounds, "; ")
	if computed.IsValid() {
		base := reflect.New(of.Type()).Elem()
		if g.base != nil {
			base = reflect.ValueOf(g.base)
		}
		if low, high, ok := g.limits(base, f.Name, r.Unit == "bytes"); ok && low+high != "" {
			r.Bounds = between(low, high)
		}
	}
	return r
}

func between(low, high string) string {
	switch {
	case low == "" && high == "":
		return ""
	case low == "":
		return "at most " + high
	case high == "":
		return "at least " + low
	}
	return low + " to " + high
}

// zeroOf says what a field is that nothing is said of.
func zeroOf(of string) string {
	switch of {
	case "bool":
		return "false"
	case "int", "int64", "uint16", "uint32", "uint64", "float64", "time.Duration":
		return "0"
	}
	return "none"
}

var bytesOf = regexp.MustCompile(`\b(?:in|the|many) bytes\b|\bbytes of\b|\b[KMGT]iB\b`)

// unit says what a number counts.
func unit(f Field) string {
	switch f.Type {
	case "time.Duration":
		return "time"
	case "float64":
		return "ratio"
	case "int", "int64", "uint32", "uint64":
		if strings.HasSuffix(f.Name, "Bytes") || bytesOf.MatchString(strings.SplitN(f.Comment, ". ", 2)[0]) ||
			bytesOf.MatchString(defaultsOf(f.Comment)) {
			return "bytes"
		}
		return "count"
	case "bool":
		return "switch"
	}
	return ""
}

// File is where the page is, below the root.
const File = "ddata/doc/settings.md"

const head = `# Settings

These are all settings of a service, made by ` + "`go run ./proptest/settings/cmd/settings`" + ` from the source.
A comment of a field is the only place where a setting is explained.

A first service needs few of them: of ` + "`ddata.Config`" + ` Name, Bind, Seeds or Discovery, BootstrapExpect, Roles, Dir and
LeaveOnSIGTERM, and of ` + "`sharding.EntityType`" + ` Identity, Messages and New.

A field that is left zero takes its default. Bounds of numbers are what Validate takes, with all else at its default.
Where a comment names them, they are its words. The last column has the settings of Pekko and Akka that stand for the
same; those below ` + "`akka.cluster`" + ` have the same names in both. A time is a ` + "`time.Duration`" + `.

`

// Page returns the reference.
func Page(root fs.FS) (string, error) {
	pekko, err := Counterparts(root)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	out.WriteString(head)
	for _, g := range Groups() {
		fmt.Fprintf(&out, "* [%s](#%s)\n", g.Name, anchor(g.Name))
	}
	for _, g := range Groups() {
		about, rows, err := g.Rows(root, pekko)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&out, "\n## %s\n\n", g.Name)
		if g.Where != "" {
			fmt.Fprintf(&out, "It is the value of `%s`. ", strings.ReplaceAll(g.Where, ", ", "` and `"))
		}
		fmt.Fprintf(&out, "Source: [%s](../../%s).\n\n%s\n\n", g.Dir, g.Dir, quoted(about))
		out.WriteString("| setting | type | unit | default | bounds | meaning and trade-off | Pekko, Akka |\n")
		out.WriteString("|---|---|---|---|---|---|---|\n")
		for _, r := range rows {
			fmt.Fprintf(&out, "| %s | %s | %s | %s | %s | %s | %s |\n", code(r.Name), g.typeOf(r.Field), r.Unit,
				cell(r.Default), cell(r.Bounds), cell(r.Meaning), code(r.Pekko...))
		}
	}
	return out.String(), nil
}

// typeOf returns the type of a field, with a link if it is a group of its own.
func (g Group) typeOf(f Field) string {
	for _, other := range Groups() {
		within := slices.Contains(strings.Split(other.Where, ", "), g.Name+"."+f.Name)
		if within && !strings.Contains(f.Type, "Strategy") {
			return "[" + code(f.Type) + "](#" + anchor(other.Name) + ")"
		}
	}
	return code(f.Type)
}

var notAnchor = regexp.MustCompile(`[^a-z0-9 -]`)

func anchor(name string) string {
	return strings.ReplaceAll(notAnchor.ReplaceAllString(strings.ToLower(name), ""), " ", "-")
}

var marks = strings.NewReplacer("\\", "\\\\", "|", "\\|", "*", "\\*", "_", "\\_", "<", "&lt;", "`", "\\`", "[", "\\[",
	"\n\n", "<br>", "\n", " ")

// cell returns a text for a cell of a table.
func cell(text string) string { return marks.Replace(text) }

// quoted returns the first paragraph of the comment of a type.
func quoted(text string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(text), "\n\n")
	return "> " + cell(first)
}

func code(names ...string) string {
	var out []string
	for _, n := range names {
		out = append(out, "`"+strings.ReplaceAll(n, "|", "\\|")+"`")
	}
	return strings.Join(out, "<br>")
}
