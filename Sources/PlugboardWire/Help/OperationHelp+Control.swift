// The help texts of operations that control subscriptions, end a connection, or explain what the bus
// does. `OperationHelp` has the table of all texts. Every example is a line that the broker accepts.

extension OperationHelp {
    static func ofControl(_ operation: Operation) -> OperationHelp {
        switch operation {
        case .pause: pause
        case .resume: resume
        case .step: step
        case .acknowledge: acknowledge
        case .will: will
        case .goodbye: goodbye
        case .disconnect: disconnect
        case .who: who
        case .why: why
        case .trace: trace
        default: explain
        }
    }

    private static let pause = OperationHelp(
        summary: "holds the events of a subscription; with client, of another client's",
        shorthand: "pause SUB",
        example: #"{"op":"pause","sub":1}"#
    )

    private static let resume = OperationHelp(
        summary: "lets a paused subscription go on",
        shorthand: "resume SUB",
        example: #"{"op":"resume","sub":1}"#
    )

    private static let step = OperationHelp(
        summary: "sends a paused subscription its next line, or the next few",
        shorthand: "step SUB [COUNT]",
        example: #"{"op":"step","sub":1,"count":3}"#
    )

    private static let acknowledge = OperationHelp(
        summary: "says that you have handled an update, so that later phases get it",
        shorthand: "ack SUB REVISION",
        example: #"{"op":"ack","sub":1,"revision":7}"#
    )

    private static let will = OperationHelp(
        summary: "sets the write that the broker makes if this connection ends without goodbye",
        shorthand: "will [publish KEY JSON]",
        example: #"{"op":"will","write":{"op":"publish","key":"cart.state","value":"gone"}}"#
    )

    private static let goodbye = OperationHelp(
        summary: "ends this connection on purpose: the broker doesn't make the write of its will",
        shorthand: "goodbye",
        example: #"{"op":"goodbye"}"#
    )

    private static let disconnect = OperationHelp(
        summary: "ends the connection of another client, as if the client had gone",
        shorthand: "disconnect CLIENT",
        example: #"{"op":"disconnect","client":7}"#
    )

    private static let who = OperationHelp(
        summary: "says who observes a key, who wrote it and who serves it",
        shorthand: "who KEY",
        example: #"{"op":"who","key":"cart.total"}"#
    )

    private static let why = OperationHelp(
        summary: "follows the causes of a key's value back to the first",
        shorthand: "why KEY",
        example: #"{"op":"why","key":"cart.total"}"#
    )

    private static let trace = OperationHelp(
        summary: "reports for each write what every observer gets of it",
        shorthand: "trace PATTERN…",
        example: #"{"op":"trace","key":"cart.**"}"#
    )

    private static let explain = OperationHelp(
        summary: "says what a write would do and who would be told, without making it",
        shorthand: "explain publish KEY JSON",
        example: #"{"op":"explain","write":{"op":"publish","key":"cart.total","value":1}}"#
    )
}
