package admin

import "larder/auth"

// Route is one line of the API.
type Route struct {
	Pattern string
	Action  auth.Action
	Status  int
}

// Routes is the whole API.
func Routes() (out []Route) {
	for _, rt := range routes() {
		out = append(out, Route{rt.pattern, rt.action, rt.status})
	}
	return out
}

// AnswerFor is the table from codes to answers.
var AnswerFor = answerFor

// WriteError answers an error.
var WriteError = writeError
