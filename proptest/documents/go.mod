module github.com/coterie-go/coterie/proptest/documents

go 1.26.0

require github.com/yuin/goldmark v1.8.7
