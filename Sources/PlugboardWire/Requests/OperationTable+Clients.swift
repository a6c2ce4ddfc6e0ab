// The rest of the table of operations: what has to do with clients.

extension Operation {
    /// What an observer does with its subscriptions.
    @inline(__always)
    var rowOfObserver: OperationRow {
        switch self {
        case .subscribe:
            OperationRow(
                "subscribe",
                "subscribe PATTERN…",
                "observe changes",
                listed: "subscribe PATTERN",
                summary: "sends the current values of all matching keys, then every change",
                example: #"{"op":"subscribe","key":"cart.**","old":true}"#,
                synonyms: "sub psubscribe watch observe listen",
                takes: .sub.with(.key).with(.keys).with(.initial).with(.old).with(.values).with(.when)
                    .with(.fields).with(.difference).with(.condition).with(.delivery).with(.every)
                    .with(.phase).with(.acknowledges).with(.since).with(.epoch).with(.emits),
                hasRules: true,
                fields: [.key: FieldHelp.pattern, .sub: FieldHelp.newSub]
            )
        case .unsubscribe:
            OperationRow(
                "unsubscribe",
                "unsubscribe SUB",
                "observe no more",
                summary: "ends a subscription",
                example: #"{"op":"unsubscribe","sub":1}"#,
                synonyms: "unsub",
                needs: .sub
            )
        default: rowOfControl
        }
    }

    /// What holds a subscription back, and lets it go on.
    @inline(__always)
    private var rowOfControl: OperationRow {
        switch self {
        case .pause:
            OperationRow(
                "pause",
                "pause SUB",
                "hold it back",
                feature: "pause",
                summary: "holds the events of a subscription; with client, of another client's",
                example: #"{"op":"pause","sub":1}"#,
                needs: .sub,
                takes: FieldSet().with(.client)
            )
        case .resume:
            OperationRow(
                "resume",
                "resume SUB",
                "let it go on",
                summary: "lets a paused subscription go on",
                example: #"{"op":"resume","sub":1}"#,
                needs: .sub,
                takes: FieldSet().with(.client)
            )
        case .step:
            OperationRow(
                "step",
                "step SUB [COUNT]",
                "let so many pass",
                summary: "sends a paused subscription its next line, or the next few",
                example: #"{"op":"step","sub":1,"count":3}"#,
                needs: .sub,
                takes: FieldSet().with(.count).with(.client)
            )
        case .acknowledge:
            OperationRow(
                "ack",
                "ack SUB REVISION",
                "say: dealt with",
                feature: "ack",
                summary: "says that you have handled an update, so that later phases get it",
                example: #"{"op":"ack","sub":1,"revision":7}"#,
                synonyms: "acknowledge",
                needs: .sub.with(.revision)
            )
        default: rowOfClient
        }
    }

    /// What concerns a client itself.
    @inline(__always)
    private var rowOfClient: OperationRow {
        switch self {
        case .hello:
            OperationRow(
                "hello",
                "hello NAME",
                "name this client",
                summary: "names this client; its later writes carry the name as \"by\"",
                example: #"{"op":"hello","name":"price-indicator"}"#,
                synonyms: "login name hi",
                needs: FieldSet().with(.name),
                takes: FieldSet().with(.grace),
                hasRules: true
            )
        case .will:
            OperationRow(
                "will",
                "will [publish KEY JSON]",
                "done if I vanish",
                listed: "will [WRITE]",
                feature: "will",
                summary: "sets the write that the broker makes if this connection ends without goodbye",
                example: #"{"op":"will","write":{"op":"publish","key":"cart.state","value":"gone"}}"#,
                takes: FieldSet().with(.write),
                hasRules: true,
                fields: [.write: "\(Field.write.row.help()), durable or while; left out: no will any more"]
            )
        case .goodbye:
            OperationRow(
                "goodbye",
                "goodbye",
                "end on purpose",
                summary: "ends this connection on purpose: the broker doesn't make the write of its will",
                example: #"{"op":"goodbye"}"#,
                synonyms: "exit quit bye logout close"
            )
        case .disconnect:
            OperationRow(
                "disconnect",
                "disconnect CLIENT",
                "end another's",
                feature: "disconnect",
                summary: "ends the connection of another client, as if the client had gone",
                example: #"{"op":"disconnect","client":7}"#,
                synonyms: "kill kick",
                needs: FieldSet().with(.client)
            )
        case .sync:
            OperationRow(
                "sync",
                "sync",
                "wait for all so far",
                summary: "replies after everything that your earlier requests caused for you",
                example: #"{"op":"sync","id":3}"#,
                synonyms: "ping"
            )
        case .help:
            OperationRow(
                "help",
                "help [OP]",
                "this, or one of it",
                summary: "says what you can send",
                example: #"{"op":"help","about":"publish"}"#,
                synonyms: "? h man usage -h --help",
                takes: FieldSet().with(.about)
            )
        default: rowOfCall
        }
    }

    /// Calls, and what shows how the bus works. An operation without a row has no name.
    @inline(__always)
    private var rowOfCall: OperationRow {
        switch self {
        case .serve:
            OperationRow(
                "serve",
                "serve PATTERN",
                "answer its calls",
                summary: "offers to answer the calls of a key: each comes as an event, and return answers it",
                example: #"{"op":"serve","key":"cart.add"}"#,
                needs: .key,
                takes: FieldSet().with(.spare),
                fields: [.key: FieldHelp.served]
            )
        case .unserve:
            OperationRow(
                "unserve",
                "unserve PATTERN",
                "answer no more",
                summary: "ends a serve; you may still answer calls that you already have",
                example: #"{"op":"unserve","key":"cart.add"}"#,
                needs: .key,
                fields: [.key: FieldHelp.served]
            )
        case .call:
            OperationRow(
                "call",
                "call KEY [JSON]",
                "ask its server",
                feature: "calls",
                summary: "asks the client that serves a key; its answer is the reply",
                example:
                    #"{"op":"call","id":4,"key":"cart.add","value":{"sku":"B0009N5L7K"},"timeout":2000}"#,
                synonyms: "ask invoke request",
                needs: .key,
                takes: FieldSet().with(.value).with(.timeout).with(.cause),
                fields: [.value: "what the server gets, any JSON"]
            )
        case .answer:
            OperationRow(
                "return",
                "return CALL JSON",
                "answer a call",
                summary: "answers a call with a value or an error",
                example: #"{"op":"return","call":"1","value":{"items":1}}"#,
                synonyms: "answer reply respond",
                needs: FieldSet().with(.call),
                takes: FieldSet().with(.value).with(.error),
                hasRules: true,
                fields: [.value: "what the caller gets, any JSON"]
            )
        default: rowOfInsight
        }
    }

    /// Questions about what the bus does.
    @inline(__always)
    private var rowOfInsight: OperationRow {
        switch self {
        case .trace:
            OperationRow(
                "trace",
                "trace PATTERN…",
                "who is told, when",
                listed: "trace PATTERN",
                feature: "trace",
                summary: "reports for each write what every observer gets of it, and calls",
                example: #"{"op":"trace","key":"cart.**"}"#,
                takes: .sub.with(.key).with(.keys).with(.limit).with(.every).with(.only),
                hasRules: true,
                fields: [
                    .key: FieldHelp.pattern, .sub: FieldHelp.newSub,
                    .limit: "\(FieldHelp.limit), in each time of every; by default all, with every 1",
                    .every: "milliseconds: at most limit events in this time, by default 1,000",
                ]
            )
        case .explain:
            OperationRow(
                "explain",
                "explain publish KEY JSON",
                "what it would do",
                listed: "explain WRITE",
                feature: "explain",
                summary: "says what a write would do and who would be told, without making it",
                example: #"{"op":"explain","write":{"op":"publish","key":"cart.total","value":1}}"#,
                needs: FieldSet().with(.write),
                hasRules: true
            )
        default: OperationRow()
        }
    }
}
