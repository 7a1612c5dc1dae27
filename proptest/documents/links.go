package documents

import (
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

// lineAnchor leads to a line of a source.
var lineAnchor = regexp.MustCompile(`^L\d+`)

// Links looks for links within the repository that lead nowhere.
func (d *Document) Links(root string, docs []*Document) (findings []string) {
	for _, l := range d.links {
		u, err := url.Parse(l.dest)
		if err != nil || u.Scheme != "" || u.Host != "" {
			if err != nil {
				findings = append(findings, d.finding(l.line, "%v", err))
			}
			continue
		}
		to := d.Name
		if u.Path != "" {
			to = path.Join(path.Dir(d.Name), u.Path)
			_, err := os.Stat(filepath.Join(root, filepath.FromSlash(to)))
			if err != nil || strings.HasPrefix(to, "..") {
				findings = append(findings, d.finding(l.line, "the link to %s leads nowhere", l.dest))
				continue
			}
		}
		if lineAnchor.MatchString(u.Fragment) {
			findings = append(findings, d.finding(l.line, "the link to %s names a line, and lines move", l.dest))
		}
		target, isDoc := named(docs, to)
		if u.Fragment != "" && isDoc && !target.anchors[u.Fragment] {
			findings = append(findings, d.finding(l.line, "%s has no heading #%s", to, u.Fragment))
		}
	}
	return findings
}
