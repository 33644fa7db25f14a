"""Fill the shelves."""

from decimal import Decimal

from django.db import migrations

PRODUCTS = [
    ("Green tea", "Kitchen", "🍵", "Spring leaves from Huangshan, picked by hand.", "12.50"),
    ("Black tea", "Kitchen", "🫖", "Strong enough for the first hour of the day.", "9.80"),
    ("Coffee beans", "Kitchen", "☕", "A kilogram, roasted last week in Kunming.", "18.00"),
    ("Rice cooker", "Kitchen", "🍚", "Three litres. It knows when it is done.", "64.00"),
    ("Honey", "Kitchen", "🍯", "From lime trees, 500 grams.", "8.40"),
    ("Noodle bowl", "Kitchen", "🍜", "Stoneware, blue inside.", "14.90"),
    ("Desk lamp", "Office", "💡", "Warm light, one hinge, no menu.", "39.00"),
    ("Notebook", "Office", "📓", "192 pages of paper that takes ink.", "6.90"),
    ("Pencils", "Office", "✏️", "A dozen, soft, unpainted.", "4.20"),
    ("Wall clock", "Office", "🕰️", "Silent. Shows the hour and nothing else.", "27.00"),
    ("Camera", "Office", "📷", "Second hand, with a good lens and a new strap.", "420.00"),
    ("Keyboard", "Office", "⌨️", "Heavy, quiet, repairable.", "119.00"),
    ("Bicycle bell", "Outdoors", "🔔", "Brass. One note, far heard.", "11.00"),
    ("Tent", "Outdoors", "⛺", "For two who like each other.", "189.00"),
    ("Umbrella", "Outdoors", "☂️", "Stands the wind on a bridge.", "24.50"),
    ("Hiking boots", "Outdoors", "🥾", "Resoled as often as you want.", "138.00"),
    ("Kite", "Outdoors", "🪁", "Paper and bamboo, from Weifang.", "16.00"),
    ("Cookbook", "Books", "📕", "Sixty dishes with five ingredients each.", "29.90"),
    ("Atlas", "Books", "🗺️", "Every province, city and district on 300 pages.", "58.00"),
    ("Book of riddles", "Books", "📗", "The answers are in the second volume.", "13.30"),
    ("Chess set", "Games", "♟️", "Walnut and maple; the queens are heavy.", "49.00"),
    ("Go board", "Games", "⚫", "Nineteen lines, 361 stones.", "74.00"),
]


def fill(apps, schema_editor):
    Product = apps.get_model("shop", "Product")
    Product.objects.using(schema_editor.connection.alias).bulk_create(
        Product(
            name=name,
            slug=name.lower().replace(" ", "-"),
            category=category,
            symbol=symbol,
            description=description,
            price=Decimal(price),
        )
        for name, category, symbol, description, price in PRODUCTS
    )


class Migration(migrations.Migration):
    dependencies = [("shop", "0001_initial")]
    operations = [migrations.RunPython(fill, migrations.RunPython.noop)]
