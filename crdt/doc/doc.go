// Package doc holds the guides of data types. Its tests are the code that the guides show.
package doc
