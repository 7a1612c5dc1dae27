package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// printer prints what a job has found: a line of names and values each, or a JSON object.
type printer struct {
	out  io.Writer
	json bool
}

// say prints pairs of a name and a value, such as a string, a number, a bool or a list of strings.
func (p *printer) say(pairs ...any) {
	if p.json {
		m := map[string]any{}
		for i := 0; i < len(pairs); i += 2 {
			m[pairs[i].(string)] = pairs[i+1]
		}
		b, err := json.Marshal(m)
		if err != nil {
			panic("coterie: a value that is no JSON: " + err.Error())
		}
		fmt.Fprintf(p.out, "%s\n", b)
		return
	}
	var words []string
	for i := 0; i < len(pairs); i += 2 {
		words = append(words, fmt.Sprintf("%s=%s", pairs[i], text(pairs[i+1])))
	}
	fmt.Fprintln(p.out, strings.Join(words, " "))
}

// text is a value in a line: quoted if it is more than a word.
func text(v any) string {
	switch v := v.(type) {
	case string:
		if v == "" || strings.ContainsAny(v, " \"=\n\t") {
			return fmt.Sprintf("%q", v)
		}
		return v
	case []string:
		return fmt.Sprintf("%q", v)
	}
	return fmt.Sprint(v)
}
