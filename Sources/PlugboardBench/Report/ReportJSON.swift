// A bench as a program reads it: everything the table has, as numbers without rounding.

extension Report {
    /// One JSON object on one line: `runs`, `secondsPerRun` and `rows`; each row with its
    /// workload and its `systems`, each figure with `median`, `least` and `most`.
    public func json() -> String {
        let rows = rows.map { $0.json() }.joined(separator: ",")
        return #"{"runs":\#(runs),"secondsPerRun":\#(number(secondsPerRun)),"rows":[\#(rows)]}"#
    }
}

extension Row {
    fileprivate func json() -> String {
        let members = [
            #""name":\#(quoted(workload.name))"#, #""valueBytes":\#(workload.valueBytes)"#,
            #""publishers":\#(workload.publishers)"#, #""observers":\#(workload.observers)"#,
            #""keys":\#(workload.keys)"#, #""batch":\#(workload.batch)"#,
            #""systems":[\#(systems.map { $0.json() }.joined(separator: ","))]"#,
        ]
        return "{\(members.joined(separator: ","))}"
    }
}

extension SystemRow {
    fileprivate func json() -> String {
        let figures = Quantity.allCases.compactMap { quantity in
            samples.figure(quantity).map { #""\#(quantity.rawValue)":\#($0.json())"# }
        }
        return #"{"system":\#(quoted(system)),"isLimitedByGenerator":\#(isLimitedByGenerator),"#
            + #""figures":{\#(figures.joined(separator: ","))}}"#
    }
}

extension Figure {
    fileprivate func json() -> String {
        #"{"median":\#(number(median)),"least":\#(number(least)),"most":\#(number(most))}"#
    }
}

/// A number as JSON has it; what is no number is null.
private func number(_ value: Double) -> String {
    value.isFinite ? "\(value)" : "null"
}

/// A name of ours, which has nothing that needs an escape but might have a quote.
private func quoted(_ text: String) -> String {
    "\"" + text.map { $0 == "\"" || $0 == "\\" ? "\\\($0)" : String($0) }.joined() + "\""
}
