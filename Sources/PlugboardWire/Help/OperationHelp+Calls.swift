// What `help` says of calls.

extension OperationHelp {
    static let serve = OperationHelp(
        summary: "answers calls of a key: each comes as an event, and is answered by return",
        shorthand: "serve PATTERN",
        example: #"{"op":"serve","key":"cart.add"}"#
    )

    static let unserve = OperationHelp(
        summary: "ends a serve; calls that are under way may still be answered",
        shorthand: "unserve PATTERN",
        example: #"{"op":"unserve","key":"cart.add"}"#
    )

    static let call = OperationHelp(
        summary: "asks the server of a key; its answer is the reply",
        shorthand: "call KEY [JSON]",
        example: #"{"op":"call","id":4,"key":"cart.add","value":{"sku":"B0009N5L7K"},"timeout":2000}"#
    )

    static let answer = OperationHelp(
        summary: "answers a call with a value or an error",
        shorthand: "return CALL JSON",
        example: #"{"op":"return","call":"1","value":{"items":1}}"#
    )
}
