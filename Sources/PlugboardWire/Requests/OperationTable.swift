// The table of all operations: one row each. Decoding, errors, `help`, "did you mean" and the greeting's
// features follow from it, and tests compare it with the schema. A new operation needs a case and a row, and
// a place in `kind` if it writes or is silent. The compiler can't see that a row is missing, but a test does.
// The texts are for people, so they may change. Each example is a line that the broker accepts.

/// What a request asks the broker to do.
public enum Operation: UInt8, CaseIterable, Sendable, BitwiseCopyable {
    case hello, publish, emit, patch, add, delete, batch, get, keys, subscribe, unsubscribe
    case pause, resume, step, acknowledge, will, goodbye, disconnect, serve, unserve, call, answer
    case who, why, trace, explain, sync, help

    /// What it does to values, and whether it is answered. It is apart from the rows, because the broker
    /// asks for it several times for each write, so its code must be inlined there.
    @inlinable
    @inline(__always)
    var kind: OperationKind {
        switch self {
        case .publish, .emit, .delete: .write
        case .patch, .add: .combining
        case .batch, .answer: .silent
        default: .answered
        }
    }

    /// The row of this operation.
    @inline(__always)
    var row: OperationRow {
        switch self {
        case .publish:
            OperationRow(
                "publish",
                "publish KEY JSON",
                "set a value",
                summary: "sets the value of a key; its observers get an update",
                example: #"{"op":"publish","id":1,"key":"cart.total","value":42.50}"#,
                synonyms: "pub set put write store",
                needs: .keyAndValue,
                takes: .ofKeptWrite.with(.whileConnected).with(.timeToLive)
            )
        case .emit:
            OperationRow(
                "emit",
                "emit KEY JSON",
                "tell, keep nothing",
                summary: "tells the observers of a key a value, and keeps nothing",
                example: #"{"op":"emit","key":"cart.add","value":{"sku":"B0009N5L7K"}}"#,
                synonyms: "send fire notify",
                needs: .keyAndValue,
                takes: .ofWrite
            )
        case .patch:
            OperationRow(
                "patch",
                "patch KEY JSON",
                "change parts of it",
                feature: "patch",
                summary: "merges into the value of a key (RFC 7396): null removes a member",
                example: #"{"op":"patch","key":"profile","value":{"age":32}}"#,
                synonyms: "merge update",
                needs: .keyAndValue,
                takes: .ofKeptWrite.with(.field),
                fields: [.value: "a merge patch: null removes a member"]
            )
        case .add:
            OperationRow(
                "add",
                "add KEY NUMBER",
                "add to a number",
                feature: "add",
                summary: "adds to a number, exactly; the reply has the sum",
                example: #"{"op":"add","id":1,"key":"visits","value":1}"#,
                synonyms: "incr incrby increment decr",
                needs: .keyAndValue,
                takes: .ofKeptWrite.with(.whileConnected).with(.timeToLive).with(.field),
                hasRules: true,
                fields: [.value: "a number, \(NumberAddition.hint)"]
            )
        case .delete:
            OperationRow(
                "delete",
                "delete KEY",
                "remove a value",
                summary: "removes a key; its observers get a delete",
                example: #"{"op":"delete","key":"banner"}"#,
                synonyms: "del rm remove unset unlink",
                needs: .key,
                takes: .ofKeptWrite
            )
        default: rowOfSeveral
        }
    }

    /// Operations on several keys, and questions about values.
    @inline(__always)
    private var rowOfSeveral: OperationRow {
        switch self {
        case .batch:
            OperationRow(
                "batch",
                "(JSON only)",
                "all writes or none",
                listed: "batch (as JSON)",
                feature: "batch",
                summary: "several writes as one: all or nothing, one revision",
                example:
                    #"{"op":"batch","writes":[{"op":"publish","key":"a","value":1},{"op":"delete","key":"b"}]}"#,
                needs: FieldSet().with(.writes),
                takes: FieldSet().with(.durable)
            )
        case .get:
            OperationRow(
                "get",
                "get KEY",
                "read a value",
                summary: "returns the value of a key, its revision and its writer",
                example: #"{"op":"get","id":2,"key":"cart.total"}"#,
                synonyms: "read cat show",
                needs: .key
            )
        case .keys:
            OperationRow(
                "keys",
                "keys [PATTERN]",
                "list what is there",
                summary: "lists the keys that match a pattern, in order, one page at a time",
                example: #"{"op":"keys","key":"catalog.*","limit":100}"#,
                synonyms: "ls list dir scan",
                takes: .key.with(.after).with(.limit),
                fields: [
                    .key: FieldHelp.pattern,
                    .limit: "\(FieldHelp.limit); by default \(Limits.pageKeysDefault)",
                ]
            )
        case .who:
            OperationRow(
                "who",
                "who KEY",
                "observers, writer",
                feature: "who",
                summary: "says who observes a key, who wrote it and who serves it",
                example: #"{"op":"who","key":"cart.total"}"#,
                needs: .key
            )
        case .why:
            OperationRow(
                "why",
                "why KEY",
                "what caused it",
                feature: "why",
                summary: "follows the causes of a key's value back to the first",
                example: #"{"op":"why","key":"cart.total"}"#,
                needs: .key,
                takes: FieldSet().with(.limit),
                fields: [.limit: "\(FieldHelp.limit); by default \(Limits.chainStepsDefault)"]
            )
        default: rowOfObserver
        }
    }
}
