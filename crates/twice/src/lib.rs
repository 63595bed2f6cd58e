//! One text, two functions: one that blocks where it has to wait, one that can be left there and gone on with later.
//!
//! ```
//! # use isthmus_twice::twice;
//! # struct Post(u32);
//! # impl Post {
//! #     fn read(&self) -> u32 { self.0 }
//! #     async fn read_later(&self) -> u32 { self.0 }
//! # }
//! #[twice]
//! async fn sum(posts: &[Post]) -> u32 {
//!     let mut sum = 0;
//!     for post in posts {
//!         sum += post.read().await;
//!     }
//!     sum
//! }
//! assert_eq!(sum(&[Post(1), Post(2)]), 3);
//! # fn is_future(_: impl Future<Output = u32>) {}
//! is_future(sum_later(&[]));
//! ```
//!
//! The function `sum` is the text without `async` and `.await`: it calls `read`, which blocks. The function `sum_later` is
//! `async`, and awaits `read_later`. A compiler makes of the first what it makes of any function; the same text as a
//! future that happens never to wait takes tens of nanoseconds more, since futures are built, moved and polled.

use proc_macro::{Delimiter, Group, Ident, TokenStream, TokenTree};

/// What the `async` function is called, after the other one's name.
const SUFFIX: &str = "_later";

/// Makes an `async fn name` into a `fn name` and an `async fn name_later`. Only calls can be awaited, of what is there under
/// such a pair of names.
#[proc_macro_attribute]
pub fn twice(_: TokenStream, function: TokenStream) -> TokenStream {
    let mut both = blocking(function.clone());
    both.extend(later(renamed(function)));
    both
}

/// Without `async` and `.await`.
fn blocking(text: TokenStream) -> TokenStream {
    let mut left = text.into_iter().peekable();
    let mut plain = Vec::new();
    while let Some(token) = left.next() {
        if is_dot(&token) && left.peek().is_some_and(|next| is_word(next, "await")) {
            left.next();
        } else if !is_word(&token, "async") {
            plain.push(inside(token, blocking));
        }
    }
    plain.into_iter().collect()
}

/// With `name_later(..).await` for `name(..).await`.
fn later(text: TokenStream) -> TokenStream {
    let mut tokens: Vec<TokenTree> = text.into_iter().map(|token| inside(token, later)).collect();
    for end in 0..tokens.len() {
        if !is_word(&tokens[end], "await") {
            continue;
        }
        match end.checked_sub(3).map(|start| &mut tokens[start..end]) {
            Some([TokenTree::Ident(name), TokenTree::Group(arguments), dot])
                if arguments.delimiter() == Delimiter::Parenthesis && is_dot(dot) =>
            {
                *name = with_suffix(name);
            }
            _ => panic!("only calls can be awaited: `name(..).await`"),
        }
    }
    tokens.into_iter().collect()
}

/// The function by its other name.
fn renamed(function: TokenStream) -> TokenStream {
    let mut tokens: Vec<TokenTree> = function.into_iter().collect();
    let name = tokens.iter().position(|token| is_word(token, "fn")).map(|at| at + 1);
    match name.and_then(|name| tokens.get_mut(name)) {
        Some(TokenTree::Ident(name)) => *name = with_suffix(name),
        _ => panic!("`#[twice]` is for functions"),
    }
    tokens.into_iter().collect()
}

/// The tokens between brackets, rewritten.
fn inside(token: TokenTree, rewrite: fn(TokenStream) -> TokenStream) -> TokenTree {
    let TokenTree::Group(group) = token else { return token };
    let mut rewritten = Group::new(group.delimiter(), rewrite(group.stream()));
    rewritten.set_span(group.span());
    TokenTree::Group(rewritten)
}

fn with_suffix(name: &Ident) -> Ident {
    Ident::new(&format!("{name}{SUFFIX}"), name.span())
}

fn is_word(token: &TokenTree, word: &str) -> bool {
    matches!(token, TokenTree::Ident(ident) if ident.to_string() == word)
}

fn is_dot(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == '.')
}
