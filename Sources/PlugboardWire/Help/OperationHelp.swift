// The help text of each operation, for replies to `help` and for hints. Every operation has one, and
// every example is a line that the broker accepts. The texts are for people, so they may change.

/// The help of one operation.
public struct OperationHelp: Sendable {
    /// One clause without a subject, such as "ends a subscription".
    public let summary: String
    /// How a person types it.
    public let shorthand: String
    /// A line that can be sent as it is.
    public let example: String

    public static func of(_ operation: Operation) -> OperationHelp {
        switch operation {
        case .hello: hello
        case .publish: publish
        case .emit: emit
        case .patch: patch
        case .add: add
        case .delete: delete
        case .batch: batch
        case .get: get
        case .keys: keys
        case .subscribe: subscribe
        case .unsubscribe: unsubscribe
        case .sync: sync
        case .help: help
        case .serve: serve
        case .unserve: unserve
        case .call: call
        case .answer: answer
        default: ofControl(operation)
        }
    }

    private static let hello = OperationHelp(
        summary: "names this client; its later writes carry the name as \"by\"",
        shorthand: "hello NAME",
        example: #"{"op":"hello","name":"price-indicator"}"#
    )

    private static let publish = OperationHelp(
        summary: "sets the value of a key; its observers get an update",
        shorthand: "publish KEY JSON",
        example: #"{"op":"publish","id":1,"key":"cart.total","value":42.50}"#
    )

    private static let emit = OperationHelp(
        summary: "tells the observers of a key a value, and keeps nothing",
        shorthand: "emit KEY JSON",
        example: #"{"op":"emit","key":"cart.add","value":{"sku":"B0009N5L7K"}}"#
    )

    private static let patch = OperationHelp(
        summary: "merges into the value of a key (RFC 7396): null removes a member",
        shorthand: "patch KEY JSON",
        example: #"{"op":"patch","key":"profile","value":{"age":32}}"#
    )

    private static let add = OperationHelp(
        summary: "adds to a number, exactly; the reply has the sum",
        shorthand: "add KEY NUMBER",
        example: #"{"op":"add","id":1,"key":"visits","value":1}"#
    )

    private static let delete = OperationHelp(
        summary: "removes a key; its observers get a delete",
        shorthand: "delete KEY",
        example: #"{"op":"delete","key":"banner"}"#
    )

    private static let batch = OperationHelp(
        summary: "several writes as one: all or nothing, one revision",
        shorthand: "(JSON only)",
        example:
            #"{"op":"batch","writes":[{"op":"publish","key":"a","value":1},{"op":"delete","key":"b"}]}"#
    )

    private static let get = OperationHelp(
        summary: "returns the value of a key, its revision and its writer",
        shorthand: "get KEY",
        example: #"{"op":"get","id":2,"key":"cart.total"}"#
    )

    private static let keys = OperationHelp(
        summary: "lists the keys that match a pattern, in order, one page at a time",
        shorthand: "keys [PATTERN]",
        example: #"{"op":"keys","key":"catalog.*","limit":100}"#
    )

    private static let subscribe = OperationHelp(
        summary: "sends the current values of all matching keys, then every change",
        shorthand: "subscribe PATTERN…",
        example: #"{"op":"subscribe","key":"cart.**","old":true}"#
    )

    private static let unsubscribe = OperationHelp(
        summary: "ends a subscription",
        shorthand: "unsubscribe SUB",
        example: #"{"op":"unsubscribe","sub":1}"#
    )

    private static let sync = OperationHelp(
        summary: "replies after everything that your earlier requests caused for you",
        shorthand: "sync",
        example: #"{"op":"sync","id":3}"#
    )

    private static let help = OperationHelp(
        summary: "says what you can send",
        shorthand: "help [OP]",
        example: #"{"op":"help","about":"publish"}"#
    )
}
