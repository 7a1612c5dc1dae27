package settings

import (
	"regexp"
	"strings"
)

var (
	byDefault = regexp.MustCompile(`(?s)^[Dd]efaults?:? (?:is )?(.*)$`)
	aside     = regexp.MustCompile(`(?s)^(.*)[;,] default (.*)$`)
	required  = regexp.MustCompile(`^Required\b[^,]*$`)
	bounds    = regexp.MustCompile(`(?:(?:of )?(?:at least|at most|1 to|between) [\d][^.;:()]*)`)
	both      = regexp.MustCompile(`^(.*?),? and (.*?)(,.*)?$`)
)

// sentences cuts a text where a full stop stands before a capital letter or a paragraph ends.
func sentences(text string) (out []string) {
	for _, p := range strings.Split(strings.TrimSpace(text), "\n\n") {
		p = strings.Join(strings.Fields(p), " ")
		from := 0
		for i := 1; i < len(p)-1; i++ {
			if p[i-1] == '.' && p[i] == ' ' && (p[i+1] >= 'A' && p[i+1] <= 'Z' || p[i+1] == '"') {
				out = append(out, p[from:i])
				from = i + 1
			}
		}
		out = append(out, p[from:], "")
	}
	return out[:max(0, len(out)-1)] // an empty one is between paragraphs
}

// said is what a comment says of a field.
type said struct {
	def      string // what stands where nothing is set; "": the comment does not say
	required bool
	bounds   []string
	meaning  string // the rest; an empty line is between paragraphs
}

// listen reads the comment of a field.
func listen(f Field) said {
	var s said
	var rest []string
	for _, one := range sentences(f.Comment) {
		bare := strings.TrimSuffix(one, ".")
		switch m := byDefault.FindStringSubmatch(bare); {
		case m != nil && s.def == "":
			s.def = m[1]
			continue
		case required.MatchString(bare):
			s.required = true
			continue
		case bare == "Optional":
			s.def = "none"
			continue
		}
		if m := aside.FindStringSubmatch(bare); m != nil && s.def == "" {
			s.def, one = m[2], m[1]+"."
		}
		s.bounds = append(s.bounds, bounds.FindAllString(one, -1)...)
		rest = append(rest, one)
	}
	if m := both.FindStringSubmatch(s.def); m != nil && strings.HasPrefix(defaultsOf(f.Comment), "Defaults") {
		s.def = m[1+min(f.At, 1)] + m[3]
	}
	s.meaning = strings.TrimSpace(strings.ReplaceAll(strings.Join(rest, " "), "  ", "\n\n"))
	return s
}

// defaultsOf returns the sentence with the default.
func defaultsOf(comment string) string {
	for _, s := range sentences(comment) {
		if byDefault.MatchString(s) {
			return s
		}
	}
	return ""
}
