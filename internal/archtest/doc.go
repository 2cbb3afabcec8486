// Package archtest holds the rules of docs/architecture.md as tests: who may
// import whom, who may open files, how long a function may be. A rule that
// stands in the way is changed here and in that page, in one commit that says
// why.
package archtest
