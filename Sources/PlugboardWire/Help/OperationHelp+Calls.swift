// The help texts of calls: to serve a key, to call, and to answer. `OperationHelp` has the table of all
// texts. Every example is a line that the broker accepts.

extension OperationHelp {
    static let serve = OperationHelp(
        summary: "offers to answer the calls of a key: each comes as an event, and return answers it",
        shorthand: "serve PATTERN",
        example: #"{"op":"serve","key":"cart.add"}"#
    )

    static let unserve = OperationHelp(
        summary: "ends a serve; you may still answer calls that you already have",
        shorthand: "unserve PATTERN",
        example: #"{"op":"unserve","key":"cart.add"}"#
    )

    static let call = OperationHelp(
        summary: "asks the client that serves a key; its answer is the reply",
        shorthand: "call KEY [JSON]",
        example: #"{"op":"call","id":4,"key":"cart.add","value":{"sku":"B0009N5L7K"},"timeout":2000}"#
    )

    static let answer = OperationHelp(
        summary: "answers a call with a value or an error",
        shorthand: "return CALL JSON",
        example: #"{"op":"return","call":"1","value":{"items":1}}"#
    )
}
