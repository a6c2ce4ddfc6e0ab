import PlugboardClient
import Testing

@testable import CartPlugin

@Suite("The cart's rules")
struct CartTests {
    private func product(_ sku: String, _ price: String = "1.00", title: String? = nil) throws -> Product {
        let title = title.map { "\"title\":\"\($0)\"," } ?? ""
        return try Product(sku: sku, catalogue: JSON("{\(title)\"price\":\(price)}"))
    }

    private func command(_ key: String, _ value: String?) throws -> CartCommand {
        let json = try value.map { try JSON($0) }
        return try CartCommand(key: key, value: json)
    }

    @Test("the default quantity is one")
    func defaultQuantity() throws {
        #expect(try command("cart.add", #"{"sku":"a"}"#) == .add(sku: "a", quantity: 1))
        #expect(
            try command("cart.add", #"{"quantity":3,"sku":"a","note":"x"}"#) == .add(sku: "a", quantity: 3)
        )
        #expect(try command("cart.remove", #"{"sku":"a"}"#) == .remove(sku: "a"))
        #expect(try command("cart.clear", nil) == .clear)
    }

    @Test(
        "a quantity is a whole number from one to a million",
        arguments: [
            "0", "-1", "1.5", "1.0", "1e1", "\"2\"", "null", "true", "1000001", "9223372036854775808",
        ]
    )
    func badQuantities(_ quantity: String) {
        let rejection = #expect(throws: Rejection.self) {
            try command("cart.add", #"{"sku":"a","quantity":\#(quantity)}"#)
        }
        #expect(rejection?.reason == .badRequest)
        #expect(rejection?.sku == "a")
    }

    @Test("a million is the largest quantity")
    func quantityLimit() throws {
        #expect(
            try command("cart.add", #"{"sku":"a","quantity":1000000}"#) == .add(sku: "a", quantity: 1_000_000)
        )
    }

    @Test(
        "a sku is text that can be a token of a key",
        arguments: [
            "{}", "[]", "null", "5", "\"a\"", #"{"sku":5}"#, #"{"sku":""}"#, #"{"sku":"a.b"}"#,
            #"{"sku":"*"}"#, #"{"sku":"a b"}"#,
        ]
    )
    func badSkus(_ value: String) {
        for key in ["cart.add", "cart.remove"] {
            let rejection = #expect(throws: Rejection.self) { try command(key, value) }
            #expect(rejection?.reason == .badRequest)
        }
    }

    @Test("a removal with a quantity is refused, because it would remove more than was meant")
    func removalWithQuantity() {
        let rejection = #expect(throws: Rejection.self) {
            try command("cart.remove", #"{"sku":"a","quantity":1}"#)
        }
        #expect(rejection?.reason == .badRequest)
    }

    @Test("adding a product again raises its quantity and keeps its place")
    func addingAgain() throws {
        var cart = Cart()
        try cart.add(product("a"), quantity: 2)
        try cart.add(product("b"), quantity: 1)
        try cart.add(product("a"), quantity: 3)
        #expect(cart.lines.map(\.sku) == ["a", "b"])
        #expect(cart.lines.map(\.quantity) == [5, 1])
    }

    @Test("a line has the title and the price from when its product was last added")
    func newPrice() throws {
        var cart = Cart()
        try cart.add(product("a", "10.00", title: "Old"), quantity: 1)
        try cart.add(product("a", "9.50", title: "New"), quantity: 1)
        #expect(cart.json.text == #"[{"sku":"a","title":"New","price":9.50,"quantity":2}]"#)
    }

    @Test("more than a million pieces of a product are refused, and nothing changes")
    func quantitySumLimit() throws {
        var cart = Cart()
        try cart.add(product("a"), quantity: 999_999)
        try cart.add(product("a"), quantity: 1)
        let before = cart
        #expect(throws: Rejection.self) { try cart.add(product("a"), quantity: 1) }
        #expect(throws: Rejection.self) { try cart.add(product("a"), quantity: 1_000_000) }
        #expect(cart == before)
    }

    @Test("the cart takes a thousand products and not one more")
    func linesLimit() throws {
        var cart = Cart()
        for number in 1...1_000 { try cart.add(product("p\(number)"), quantity: 1) }
        #expect(throws: Rejection.self) { try cart.add(product("p1001"), quantity: 1) }
        try cart.add(product("p1"), quantity: 1)
        #expect(cart.lines.count == 1_000)
        #expect(cart.lines.first?.quantity == 2)
    }

    @Test("removing takes the whole line; a missing product is unknown")
    func removing() throws {
        var cart = Cart()
        try cart.add(product("a"), quantity: 5)
        try cart.add(product("b"), quantity: 1)
        try cart.remove(sku: "a")
        #expect(cart.lines.map(\.sku) == ["b"])
        let rejection = #expect(throws: Rejection.self) { try cart.remove(sku: "a") }
        #expect(rejection?.reason == .unknownProduct)
    }

    @Test("a price keeps its spelling, and a product without a title has its sku as one")
    func products() throws {
        #expect(try product("a", "49.90").price.text == "49.90")
        #expect(try product("a").title == "a")
        #expect(try product("a", "0").price.text == "0")
        #expect(try product("a", "1000000000000").price.text == "1000000000000")
    }

    @Test(
        "a product whose price is no number is not for sale",
        arguments: [
            "null", "\"49.95\"", "-0.01", "true", "[1]", "1000000000000.01", "1e400", "0.0000000000001",
        ]
    )
    func notForSale(_ price: String) {
        let rejection = #expect(throws: Rejection.self) { try product("a", price) }
        #expect(rejection?.reason == .notForSale)
    }

    @Test(
        "a catalogue entry without a price, or that is no object, is not for sale",
        arguments: ["{}", "[]", "5", "null"]
    )
    func noPrice(_ value: String) {
        let rejection = #expect(throws: Rejection.self) { try Product(sku: "a", catalogue: JSON(value)) }
        #expect(rejection?.reason == .notForSale)
    }

    @Test("a cart is read as it was written, except for white space and further members")
    func reading() throws {
        let text = #"[ {"quantity":2, "price":49.95, "title":"A", "sku":"a", "colour":"red"} ]"#
        let cart = try #require(try Cart(JSON(text)))
        #expect(cart.json.text == #"[{"sku":"a","title":"A","price":49.95,"quantity":2}]"#)
        #expect(Cart(cart.json) == cart)
        #expect(try Cart(JSON("[]")) == Cart())
    }

    @Test(
        "a value that isn't a cart is refused",
        arguments: [
            "{}", "null", "[1]", #"[{"sku":"a"}]"#, #"[{"sku":"a","title":"A","price":"1","quantity":1}]"#,
            #"[{"sku":"a","title":"A","price":1,"quantity":0}]"#,
        ]
    )
    func notACart(_ text: String) throws {
        #expect(try Cart(JSON(text)) == nil)
    }

    @Test("a rejection says what and why, even without a sku")
    func rejection() {
        #expect(
            Rejection(sku: "a", .notForSale, "").json.text == #"{"sku":"a","reason":"not_for_sale"}"#
        )
        #expect(Rejection(sku: nil, .badRequest, "").json.text == #"{"sku":null,"reason":"bad_request"}"#)
        #expect(Rejection.Reason.unknownProduct.rawValue == "unknown_product")
    }
}
